// Command filippo wraps filippo.io/mldsa: its ML-DSA, its PKCS #8 and SPKI. The token around the signature is put
// together by hand.
package main

import (
	"filippo.io/mldsa"

	"sealstone-interop/akp"
	"sealstone-interop/wire"
)

var forms = []string{"private jwk", "private pem", "jwks", "public pem"}

func main() {
	asks := wire.Asks{"make-key": makeKey, "sign-token": signToken, "check-token": checkToken, "load-key": loadKey}
	wire.Serve("filippo.io/mldsa", asks, wire.Answer{
		"engine": "its own", "writes": forms, "reads": forms, "judges": []string{"seed", "pem"}, "deterministic": true,
	})
}

func makeKey(r wire.Request) (wire.Answer, error) {
	key, err := newKey(r.Level, r.Seed)
	if err != nil {
		return nil, err
	}
	privatePEM, err := privateToPEM(key)
	if err != nil {
		return nil, err
	}
	publicPEM, err := publicToPEM(key.PublicKey())
	if err != nil {
		return nil, err
	}
	public := key.PublicKey().Bytes()
	return wire.Answer{
		"private jwk": akp.PrivateJWK(r.Level, public, key.Bytes()), "private pem": privatePEM,
		"jwks": akp.JWKS(r.Level, public), "public pem": publicPEM,
	}, nil
}

func newKey(level, seed string) (*mldsa.PrivateKey, error) {
	parameters, err := parametersOf(level)
	if err != nil {
		return nil, err
	}
	if seed == "" {
		return mldsa.GenerateKey(parameters)
	}
	bytes, err := akp.Base64url.DecodeString(seed)
	if err != nil {
		return nil, err
	}
	return mldsa.NewPrivateKey(parameters, bytes)
}

func signToken(r wire.Request) (wire.Answer, error) {
	key, err := loadPrivate(r.Level, r.Form, r.Key)
	if err != nil {
		return nil, err
	}
	input := akp.SigningInput(r.Level, key.PublicKey().Bytes(), r.Typ, r.Payload)
	sign := key.Sign
	if r.Deterministic {
		sign = deterministic(key)
	}
	signature, err := sign(nil, []byte(input), nil)
	if err != nil {
		return nil, err
	}
	return wire.Answer{"token": input + "." + akp.Base64url.EncodeToString(signature)}, nil
}

func checkToken(r wire.Request) (wire.Answer, error) {
	token, err := akp.Split(r.Token)
	if err != nil {
		return nil, err
	}
	key, err := loadPublic(r.Level, r.Form, r.Key, token.Kid)
	if err != nil {
		return nil, err
	}
	if err := mldsa.Verify(key, token.SigningInput, token.Signature, nil); err != nil {
		return nil, wire.Refusing(err)
	}
	return wire.Answer{"payload": token.Payload}, nil
}

func loadKey(r wire.Request) (wire.Answer, error) {
	_, err := loadPrivate(r.Level, r.Form, r.Key)
	return wire.Answer{}, wire.Refusing(err)
}
