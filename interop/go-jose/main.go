// Command go-jose wraps go-jose: tokens go through its JWS door, keys through its JWK and through crypto/x509.
package main

import (
	"crypto"
	"crypto/mldsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"runtime"

	"github.com/go-jose/go-jose/v4"

	"sealstone-interop/wire"
)

var forms = []string{"private jwk", "private pem", "jwks", "public pem"}

func main() {
	asks := wire.Asks{"make-key": makeKey, "sign-token": signToken, "check-token": checkToken, "load-key": loadKey}
	wire.Serve("github.com/go-jose/go-jose/v4", asks, wire.Answer{
		"engine": "crypto/mldsa of " + runtime.Version(), "writes": forms, "reads": forms,
		"judges": []string{"jwk", "pem"},
	})
}

func parametersOf(level string) (mldsa.Parameters, error) {
	for _, parameters := range []mldsa.Parameters{mldsa.MLDSA44(), mldsa.MLDSA65(), mldsa.MLDSA87()} {
		if parameters.String() == level {
			return parameters, nil
		}
	}
	return mldsa.Parameters{}, fmt.Errorf("no level is named %q", level)
}

func makeKey(r wire.Request) (wire.Answer, error) {
	parameters, err := parametersOf(r.Level)
	if err != nil {
		return nil, err
	}
	key, err := mldsa.GenerateKey(parameters)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	spki, err := x509.MarshalPKIXPublicKey(key.PublicKey())
	if err != nil {
		return nil, err
	}
	private := jose.JSONWebKey{Key: key, Algorithm: r.Level}
	public, err := named(key, r.Level)
	if err != nil {
		return nil, err
	}
	jwk, err := json.Marshal(private)
	if err != nil {
		return nil, err
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	return wire.Answer{
		"private jwk": string(jwk), "private pem": block("PRIVATE KEY", pkcs8),
		"jwks": string(set), "public pem": block("PUBLIC KEY", spki),
	}, err
}

// named is the public key with its thumbprint as its kid.
func named(key *mldsa.PrivateKey, level string) (jose.JSONWebKey, error) {
	public := jose.JSONWebKey{Key: key.PublicKey(), Algorithm: level}
	thumbprint, err := public.Thumbprint(crypto.SHA256)
	public.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	return public, err
}

func signToken(r wire.Request) (wire.Answer, error) {
	key, err := loadPrivate(r)
	if err != nil {
		return nil, err
	}
	public, err := named(key, r.Level)
	if err != nil {
		return nil, err
	}
	options := new(jose.SignerOptions)
	if r.Typ != "" {
		options = options.WithType(jose.ContentType(r.Typ))
	}
	with := jose.JSONWebKey{Key: key, Algorithm: r.Level, KeyID: public.KeyID}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(r.Level), Key: with}, options)
	if err != nil {
		return nil, err
	}
	signed, err := signer.Sign([]byte(r.Payload))
	if err != nil {
		return nil, err
	}
	token, err := signed.CompactSerialize()
	return wire.Answer{"token": token}, err
}

func checkToken(r wire.Request) (wire.Answer, error) {
	token, err := jose.ParseSigned(r.Token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(r.Level)})
	if err != nil {
		return nil, wire.Refusing(err)
	}
	var key any
	if r.Form == "jwks" {
		var set jose.JSONWebKeySet
		if err := json.Unmarshal([]byte(r.Key), &set); err != nil {
			return nil, err
		}
		key = set
	} else if key, err = fromPEM(r.Key, "PUBLIC KEY", x509.ParsePKIXPublicKey); err != nil {
		return nil, err
	}
	payload, err := token.Verify(key)
	if err != nil {
		return nil, wire.Refusing(err)
	}
	return wire.Answer{"payload": string(payload)}, nil
}

func loadKey(r wire.Request) (wire.Answer, error) {
	_, err := loadPrivate(r)
	return wire.Answer{}, wire.Refusing(err)
}

func loadPrivate(r wire.Request) (*mldsa.PrivateKey, error) {
	var found any
	if r.Form == "private jwk" {
		var key jose.JSONWebKey
		if err := json.Unmarshal([]byte(r.Key), &key); err != nil {
			return nil, err
		}
		found = key.Key
	} else {
		var err error
		if found, err = fromPEM(r.Key, "PRIVATE KEY", x509.ParsePKCS8PrivateKey); err != nil {
			return nil, err
		}
	}
	key, ok := found.(*mldsa.PrivateKey)
	if !ok || key.PublicKey().Parameters().String() != r.Level {
		return nil, fmt.Errorf("this holds no private key of %s", r.Level)
	}
	return key, nil
}

func fromPEM(text, label string, parse func([]byte) (any, error)) (any, error) {
	found, _ := pem.Decode([]byte(text))
	if found == nil || found.Type != label {
		return nil, errors.New("no PEM block labelled " + label)
	}
	return parse(found.Bytes)
}

func block(label string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
}
