// Command partner wraps filippo.io/mldsa: its ML-DSA, its PKCS #8 and SPKI. The token around the signature is put
// together by hand. It reads a JSON request per line and answers each with a line (see ../README.md).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"filippo.io/mldsa"
)

type request struct {
	Ask, Level, Seed, Form, Key, Payload, Typ, Token string
	Deterministic                                    bool
}

type answer map[string]any

// errRefused is what the library says of an input that is not valid.
var errRefused = errors.New("refused")

var forms = []string{"private jwk", "private pem", "jwks", "public pem"}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		out, err := reply(lines.Bytes())
		if errors.Is(err, errRefused) {
			out = answer{"refused": err.Error()}
		} else if err != nil {
			out = answer{"error": err.Error()}
		}
		json.NewEncoder(os.Stdout).Encode(out)
	}
}

func reply(line []byte) (answer, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	switch r.Ask {
	case "hello":
		return hello()
	case "make-key":
		return makeKey(r)
	case "sign-token":
		return signToken(r)
	case "check-token":
		return checkToken(r)
	}
	return nil, fmt.Errorf("no request is named %q", r.Ask)
}

func hello() (answer, error) {
	build, ok := debug.ReadBuildInfo()
	if !ok || len(build.Deps) != 1 {
		return nil, errors.New("the build does not say which library it holds")
	}
	return answer{
		"version": build.Deps[0].Version, "engine": "its own", "asks": []string{"make-key", "sign-token", "check-token"},
		"writes": forms, "reads": forms, "deterministic": true,
	}, nil
}

func makeKey(r request) (answer, error) {
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
	return answer{
		"private jwk": privateJWK(r.Level, key), "private pem": privatePEM,
		"jwks": jwks(r.Level, key.PublicKey()), "public pem": publicPEM,
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
	bytes, err := base64url.DecodeString(seed)
	if err != nil {
		return nil, err
	}
	return mldsa.NewPrivateKey(parameters, bytes)
}

func signToken(r request) (answer, error) {
	key, err := loadPrivate(r.Level, r.Form, r.Key)
	if err != nil {
		return nil, err
	}
	input := signingInput(r.Level, key.PublicKey(), r.Typ, r.Payload)
	sign := key.Sign
	if r.Deterministic {
		sign = deterministic(key)
	}
	signature, err := sign(nil, []byte(input), nil)
	if err != nil {
		return nil, err
	}
	return answer{"token": input + "." + base64url.EncodeToString(signature)}, nil
}

func checkToken(r request) (answer, error) {
	token, err := split(r.Token)
	if err != nil {
		return nil, err
	}
	key, err := loadPublic(r.Level, r.Form, r.Key, token.kid)
	if err != nil {
		return nil, err
	}
	if err := mldsa.Verify(key, token.signingInput, token.signature, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	return answer{"payload": token.payload}, nil
}
