package main

import (
	"crypto"
	"encoding/pem"
	"fmt"
	"io"
	"strings"

	"filippo.io/mldsa"
	"filippo.io/mldsa/x509"

	"sealstone-interop/akp"
)

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

func loadPrivate(level, form, text string) (*mldsa.PrivateKey, error) {
	parameters, err := parametersOf(level)
	if err != nil {
		return nil, err
	}
	if form == "private jwk" {
		seed, err := akp.Seed(text)
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
		public, err := akp.PublicIn(text, level, kid)
		if err != nil {
			return nil, err
		}
		return mldsa.NewPublicKey(parameters, public)
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
