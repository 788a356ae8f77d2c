package main

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/mldsa"
	"filippo.io/mldsa/x509"
)

var base64url = base64.RawURLEncoding.Strict()

func parametersOf(level string) (mldsa.Parameters, error) {
	for _, parameters := range []mldsa.Parameters{mldsa.MLDSA44(), mldsa.MLDSA65(), mldsa.MLDSA87()} {
		if parameters.String() == level {
			return parameters, nil
		}
	}
	return mldsa.Parameters{}, fmt.Errorf("no level is named %q", level)
}

func deterministic(key *mldsa.PrivateKey) func(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return func(_ io.Reader, message []byte, options crypto.SignerOpts) ([]byte, error) {
		return key.SignDeterministic(message, options)
	}
}

// jwk is an AKP key (RFC 9964 §3). The order of the first three members is that of its thumbprint (RFC 7638 §3).
type jwk struct {
	Alg  string `json:"alg"`
	Kty  string `json:"kty"`
	Pub  string `json:"pub"`
	Priv string `json:"priv,omitempty"`
	Kid  string `json:"kid,omitempty"`
}

type jwkSet struct {
	Keys []jwk `json:"keys"`
}

func publicJWK(level string, key *mldsa.PublicKey) jwk {
	return jwk{Alg: level, Kty: "AKP", Pub: base64url.EncodeToString(key.Bytes())}
}

func privateJWK(level string, key *mldsa.PrivateKey) string {
	private := publicJWK(level, key.PublicKey())
	private.Priv = base64url.EncodeToString(key.Bytes())
	return toJSON(private)
}

func jwks(level string, key *mldsa.PublicKey) string {
	public := publicJWK(level, key)
	public.Kid = thumbprint(level, key)
	return toJSON(jwkSet{[]jwk{public}})
}

func thumbprint(level string, key *mldsa.PublicKey) string {
	digest := sha256.Sum256([]byte(toJSON(publicJWK(level, key))))
	return base64url.EncodeToString(digest[:])
}

func loadPrivate(level, form, text string) (*mldsa.PrivateKey, error) {
	parameters, err := parametersOf(level)
	if err != nil {
		return nil, err
	}
	if form == "private jwk" {
		var key jwk
		if err := json.Unmarshal([]byte(text), &key); err != nil {
			return nil, err
		}
		seed, err := base64url.DecodeString(key.Priv)
		if err != nil {
			return nil, err
		}
		return mldsa.NewPrivateKey(parameters, seed)
	}
	der, err := fromPEM(text, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	private, ok := key.(*mldsa.PrivateKey)
	if !ok || private.PublicKey().Parameters() != parameters {
		return nil, fmt.Errorf("the PEM does not hold a key of %s", level)
	}
	return private, nil
}

func loadPublic(level, form, text, kid string) (*mldsa.PublicKey, error) {
	parameters, err := parametersOf(level)
	if err != nil {
		return nil, err
	}
	if form == "jwks" {
		var set jwkSet
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			return nil, err
		}
		for _, key := range set.Keys {
			if key.Kid == kid && key.Alg == level {
				public, err := base64url.DecodeString(key.Pub)
				if err != nil {
					return nil, err
				}
				return mldsa.NewPublicKey(parameters, public)
			}
		}
		return nil, fmt.Errorf("no key of %s under the kid %s", level, kid)
	}
	der, err := fromPEM(text, "PUBLIC KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	public, ok := key.(*mldsa.PublicKey)
	if !ok || public.Parameters() != parameters {
		return nil, fmt.Errorf("the PEM does not hold a key of %s", level)
	}
	return public, nil
}

func privateToPEM(key *mldsa.PrivateKey) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), err
}

func publicToPEM(key *mldsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), err
}

func fromPEM(text, label string) ([]byte, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != label || strings.TrimSpace(string(rest)) != "" {
		return nil, fmt.Errorf("not one PEM block labelled %s", label)
	}
	return block.Bytes, nil
}

// compact is a compact JWS (RFC 7515 §7.1) taken apart, nothing of it verified.
type compact struct {
	kid, payload            string
	signingInput, signature []byte
}

func signingInput(level string, key *mldsa.PublicKey, typ, payload string) string {
	header := toJSON(struct {
		Alg string `json:"alg"`
		Kid string `json:"kid"`
		Typ string `json:"typ,omitempty"`
	}{level, thumbprint(level, key), typ})
	return base64url.EncodeToString([]byte(header)) + "." + base64url.EncodeToString([]byte(payload))
}

func split(token string) (compact, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return compact{}, errors.New("a compact JWS has three parts")
	}
	var decoded [3][]byte
	for i, part := range parts {
		var err error
		if decoded[i], err = base64url.DecodeString(part); err != nil {
			return compact{}, err
		}
	}
	var header struct{ Kid string }
	if err := json.Unmarshal(decoded[0], &header); err != nil {
		return compact{}, err
	}
	return compact{header.Kid, string(decoded[1]), []byte(parts[0] + "." + parts[1]), decoded[2]}, nil
}

func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // structs of strings always have a JSON form
	}
	return string(text)
}
