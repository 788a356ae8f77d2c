// Package akp is compact JWS and AKP keys (RFC 7515 §7.1, RFC 9964 §3) around libraries that know only bytes and signatures.
package akp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Base64url is without padding (RFC 7515 §2).
var Base64url = base64.RawURLEncoding.Strict()

// jwk is an AKP key. The order of the first three members is that of its thumbprint (RFC 7638 §3).
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

// PrivateJWK writes a private key.
func PrivateJWK(level string, public, seed []byte) string {
	return toJSON(jwk{Alg: level, Kty: "AKP", Pub: Base64url.EncodeToString(public), Priv: Base64url.EncodeToString(seed)})
}

// JWKS writes a set of one public key.
func JWKS(level string, public []byte) string {
	key := jwk{Alg: level, Kty: "AKP", Pub: Base64url.EncodeToString(public), Kid: Thumbprint(level, public)}
	return toJSON(jwkSet{[]jwk{key}})
}

// Thumbprint is that of RFC 7638 over the members that RFC 9964 §6 names.
func Thumbprint(level string, public []byte) string {
	digest := sha256.Sum256([]byte(toJSON(jwk{Alg: level, Kty: "AKP", Pub: Base64url.EncodeToString(public)})))
	return Base64url.EncodeToString(digest[:])
}

// Seed is what a private JWK holds (RFC 9964 §4), its length not looked at.
func Seed(text string) ([]byte, error) {
	var key jwk
	if err := json.Unmarshal([]byte(text), &key); err != nil {
		return nil, err
	}
	return Base64url.DecodeString(key.Priv)
}

// PublicIn is the raw public key that the set holds for `level` under `kid`.
func PublicIn(text, level, kid string) ([]byte, error) {
	var set jwkSet
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil, err
	}
	for _, key := range set.Keys {
		if key.Kid == kid && key.Alg == level {
			return Base64url.DecodeString(key.Pub)
		}
	}
	return nil, fmt.Errorf("no key of %s under the kid %s", level, kid)
}

// Compact is a compact JWS taken apart, nothing of it verified.
type Compact struct {
	Kid, Payload            string
	SigningInput, Signature []byte
}

// SigningInput is header and payload of a token.
func SigningInput(level string, public []byte, typ, payload string) string {
	header := toJSON(struct {
		Alg string `json:"alg"`
		Kid string `json:"kid"`
		Typ string `json:"typ,omitempty"`
	}{level, Thumbprint(level, public), typ})
	return Base64url.EncodeToString([]byte(header)) + "." + Base64url.EncodeToString([]byte(payload))
}

// Split takes a token apart.
func Split(token string) (Compact, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Compact{}, errors.New("a compact JWS has three parts")
	}
	var decoded [3][]byte
	for i, part := range parts {
		var err error
		if decoded[i], err = Base64url.DecodeString(part); err != nil {
			return Compact{}, err
		}
	}
	var header struct{ Kid string }
	if err := json.Unmarshal(decoded[0], &header); err != nil {
		return Compact{}, err
	}
	return Compact{header.Kid, string(decoded[1]), []byte(parts[0] + "." + parts[1]), decoded[2]}, nil
}

func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // structs of strings always have a JSON form
	}
	return string(text)
}
