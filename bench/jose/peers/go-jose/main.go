// Command peer is go-jose as a rival. The lines are those of bench/README.md, "Measuring tokens".
package main

import (
	"bufio"
	"crypto/mldsa"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	tokens     = 32
	audience   = "https://orders.example"
	processCPU = 2 // CLOCK_PROCESS_CPUTIME_ID: the collector's threads count, for the collector is part of the price.
)

// claims are those of PEER_CLAIMS, in its order.
type claims struct {
	Audience  string `json:"aud"`
	ClientID  string `json:"client_id"`
	Expiry    int64  `json:"exp"`
	IssuedAt  int64  `json:"iat"`
	Issuer    string `json:"iss"`
	ID        string `json:"jti"`
	NotBefore int64  `json:"nbf"`
	Scope     string `json:"scope"`
	Subject   string `json:"sub"`
}

type rival struct {
	signer jose.Signer
	public jose.JSONWebKey
	claims claims
	tokens [tokens]string
}

func main() {
	var given claims
	must(json.Unmarshal([]byte(os.Getenv("PEER_CLAIMS")), &given))
	rivals := map[string]*rival{}
	for level, parameters := range map[string]mldsa.Parameters{"44": mldsa.MLDSA44(), "65": mldsa.MLDSA65(), "87": mldsa.MLDSA87()} {
		rivals[level] = prepare(parameters, given)
	}
	info, _ := debug.ReadBuildInfo()
	fmt.Println("go-jose", info.Deps[0].Version, runtime.Version())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var operation, level string
		var runs int
		fmt.Sscan(lines.Text(), &operation, &level, &runs)
		r := rivals[level]
		switch {
		case r == nil:
			fmt.Println("none")
		case operation == "check":
			key, err := json.Marshal(r.public)
			must(err)
			fmt.Printf("%s %s\n", key, r.tokens[0])
		case operation == "sign-token":
			start := now()
			for range runs {
				r.sign()
			}
			fmt.Println(now() - start)
		case operation == "verify-token":
			start := now()
			for run := range runs {
				must(r.verify(r.tokens[run%tokens]))
			}
			fmt.Println(now() - start)
		default:
			fmt.Println("none")
		}
	}
}

func prepare(parameters mldsa.Parameters, given claims) *rival {
	key, err := mldsa.GenerateKey(parameters)
	must(err)
	alg := jose.SignatureAlgorithm(parameters.String())
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	must(err)
	r := &rival{signer: signer, public: jose.JSONWebKey{Key: key.PublicKey(), Algorithm: string(alg)}, claims: given}
	for i := range r.tokens {
		r.tokens[i] = r.sign()
	}
	must(r.verify(r.tokens[0]))
	altered := []byte(r.tokens[0])
	place := len(altered) - 1000
	altered[place] = map[bool]byte{true: 'B', false: 'A'}[altered[place] == 'A']
	if r.verify(string(altered)) == nil {
		panic("an altered token was taken")
	}
	return r
}

func (r *rival) sign() string {
	token, err := jwt.Signed(r.signer).Claims(r.claims).Serialize()
	must(err)
	return token
}

func (r *rival) verify(text string) error {
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(r.public.Algorithm)})
	if err != nil {
		return err
	}
	var standard jwt.Claims
	var all claims
	if err := token.Claims(r.public.Key, &standard, &all); err != nil {
		return err
	}
	return standard.Validate(jwt.Expected{Issuer: r.claims.Issuer, AnyAudience: jwt.Audience{audience}, Time: time.Now()})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func now() int64 {
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, processCPU, uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		panic(errno)
	}
	return t.Nano()
}
