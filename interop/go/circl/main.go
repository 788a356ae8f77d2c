// Command circl wraps Cloudflare's circl: its ML-DSA. The token around the signature is put together by hand.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/cloudflare/circl/sign"
	"github.com/cloudflare/circl/sign/schemes"

	"sealstone-interop/akp"
	"sealstone-interop/wire"
)

var forms = []string{"private jwk", "jwks"}

func main() {
	asks := wire.Asks{"make-key": makeKey, "sign-token": signToken, "check-token": checkToken, "load-key": loadKey}
	wire.Serve("github.com/cloudflare/circl", asks, wire.Answer{
		"engine": "its own", "writes": forms, "reads": forms, "judges": []string{"seed"},
	})
}

func makeKey(r wire.Request) (wire.Answer, error) {
	scheme, err := schemeOf(r.Level)
	if err != nil {
		return nil, err
	}
	seed := make([]byte, 32)
	rand.Read(seed)
	key, _ := scheme.DeriveKey(seed)
	public, err := key.MarshalBinary()
	return wire.Answer{"private jwk": akp.PrivateJWK(r.Level, public, seed), "jwks": akp.JWKS(r.Level, public)}, err
}

func signToken(r wire.Request) (wire.Answer, error) {
	scheme, private, err := load(r)
	if err != nil {
		return nil, err
	}
	public, err := private.Public().(sign.PublicKey).MarshalBinary()
	if err != nil {
		return nil, err
	}
	input := akp.SigningInput(r.Level, public, r.Typ, r.Payload)
	signature := scheme.Sign(private, []byte(input), nil)
	return wire.Answer{"token": input + "." + akp.Base64url.EncodeToString(signature)}, nil
}

func checkToken(r wire.Request) (wire.Answer, error) {
	token, err := akp.Split(r.Token)
	if err != nil {
		return nil, err
	}
	scheme, err := schemeOf(r.Level)
	if err != nil {
		return nil, err
	}
	public, err := akp.PublicIn(r.Key, r.Level, token.Kid)
	if err != nil {
		return nil, err
	}
	key, err := scheme.UnmarshalBinaryPublicKey(public)
	if err != nil {
		return nil, err
	}
	if !scheme.Verify(key, token.SigningInput, token.Signature, nil) {
		return nil, wire.Refusing(errors.New("Verify is false"))
	}
	return wire.Answer{"payload": token.Payload}, nil
}

func loadKey(r wire.Request) (wire.Answer, error) {
	_, _, err := load(r)
	return wire.Answer{}, wire.Refusing(err)
}

// load derives the key from a JWK's seed. DeriveKey panics at a seed of another length: that is its refusal.
func load(r wire.Request) (scheme sign.Scheme, key sign.PrivateKey, err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("panic: %v", said)
		}
	}()
	if scheme, err = schemeOf(r.Level); err != nil {
		return nil, nil, err
	}
	seed, err := akp.Seed(r.Key)
	if err != nil {
		return nil, nil, err
	}
	_, key = scheme.DeriveKey(seed)
	return scheme, key, nil
}

func schemeOf(level string) (sign.Scheme, error) {
	if scheme := schemes.ByName(level); scheme != nil {
		return scheme, nil
	}
	return nil, fmt.Errorf("no level is named %q", level)
}
