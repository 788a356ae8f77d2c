// Command gocose wraps go-cose: its COSE_Sign1, with the signatures of filippo.io/mldsa, since it has no ML-DSA of its own.
package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/mldsa"
	"github.com/veraison/go-cose"

	"sealstone-interop/wire"
)

// RFC 9964 §8.2.
var levels = map[string]struct {
	parameters mldsa.Parameters
	algorithm  cose.Algorithm
}{
	"ML-DSA-44": {mldsa.MLDSA44(), -48},
	"ML-DSA-65": {mldsa.MLDSA65(), -49},
	"ML-DSA-87": {mldsa.MLDSA87(), -50},
}

func main() {
	asks := wire.Asks{"make-key": makeKey, "sign1": sign, "open1": open}
	wire.Serve("github.com/veraison/go-cose", asks, wire.Answer{"engine": "filippo.io/mldsa"})
}

func makeKey(r wire.Request) (wire.Answer, error) {
	key, err := mldsa.GenerateKey(levels[r.Level].parameters)
	if err != nil {
		return nil, err
	}
	return wire.Answer{
		"seed": hex.EncodeToString(key.Bytes()), "public": hex.EncodeToString(key.PublicKey().Bytes()),
	}, nil
}

type signer struct {
	key       *mldsa.PrivateKey
	algorithm cose.Algorithm
}

func (s signer) Algorithm() cose.Algorithm { return s.algorithm }

func (s signer) Sign(random io.Reader, content []byte) ([]byte, error) {
	return s.key.Sign(random, content, nil)
}

type verifier struct {
	key       *mldsa.PublicKey
	algorithm cose.Algorithm
}

func (v verifier) Algorithm() cose.Algorithm { return v.algorithm }

func (v verifier) Verify(content, signature []byte) error {
	return mldsa.Verify(v.key, content, signature, nil)
}

func sign(r wire.Request) (wire.Answer, error) {
	level := levels[r.Level]
	parts, err := unhex(r.Seed, r.Content, r.Aad)
	if err != nil {
		return nil, err
	}
	key, err := mldsa.NewPrivateKey(level.parameters, parts[0])
	if err != nil {
		return nil, err
	}
	message := cose.NewSign1Message()
	message.Headers.Protected.SetAlgorithm(level.algorithm)
	message.Headers.Protected[cose.HeaderLabelContentType] = "text/plain"
	message.Headers.Unprotected[cose.HeaderLabelKeyID] = []byte("a key")
	message.Payload = parts[1]
	if err := message.Sign(nil, parts[2], signer{key, level.algorithm}); err != nil {
		return nil, err
	}
	if r.Detached {
		message.Payload = nil
	}
	encode := message.MarshalCBOR
	if r.Untagged {
		encode = (*cose.UntaggedSign1Message)(message).MarshalCBOR
	}
	bytes, err := encode()
	return wire.Answer{"message": hex.EncodeToString(bytes)}, err
}

// Whether there is a tag is what the caller of go-cose knows: it is asked by the type that fits.
func open(r wire.Request) (wire.Answer, error) {
	level := levels[r.Level]
	parts, err := unhex(r.Public, r.Message, r.Aad, r.Content)
	if err != nil {
		return nil, err
	}
	key, err := mldsa.NewPublicKey(level.parameters, parts[0])
	if err != nil {
		return nil, err
	}
	var message cose.Sign1Message
	decode := message.UnmarshalCBOR
	if len(parts[1]) > 0 && parts[1][0]>>5 == 4 {
		decode = (*cose.UntaggedSign1Message)(&message).UnmarshalCBOR
	}
	if err := decode(parts[1]); err != nil {
		return nil, wire.Refusing(err)
	}
	if r.Content != "" {
		if message.Payload != nil {
			return nil, wire.Refusing(errors.New("the content is in the message"))
		}
		message.Payload = parts[3]
	}
	if err := message.Verify(parts[2], verifier{key, level.algorithm}); err != nil {
		return nil, wire.Refusing(err)
	}
	return wire.Answer{"content": hex.EncodeToString(message.Payload)}, nil
}

func unhex(texts ...string) ([][]byte, error) {
	all := make([][]byte, len(texts))
	for at, text := range texts {
		bytes, err := hex.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", at, err)
		}
		all[at] = bytes
	}
	return all, nil
}
