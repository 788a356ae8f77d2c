// filippo.io/mldsa as a rival: the public copy of Go's own package. Its private keys hold the matrix, its public keys do
// not.
package main

import (
	"filippo.io/mldsa"

	"sealstone/bench/peers/go/line"
)

func main() {
	at := func(parameters mldsa.Parameters) func() line.Rival {
		return func() line.Rival {
			private, err := mldsa.NewPrivateKey(parameters, make([]byte, 32))
			must(err)
			return &level{parameters, private, private.PublicKey()}
		}
	}
	line.Answer("filippo.io/mldsa "+line.Version("filippo.io/mldsa"), map[string]func() line.Rival{
		"44": at(mldsa.MLDSA44()), "65": at(mldsa.MLDSA65()), "87": at(mldsa.MLDSA87()),
	})
}

type level struct {
	parameters mldsa.Parameters
	private    *mldsa.PrivateKey
	public     *mldsa.PublicKey
}

func (l *level) Keygen(seed *[32]byte) {
	_, err := mldsa.NewPrivateKey(l.parameters, seed[:])
	must(err)
}

func (l *level) PublicKey() []byte { return l.public.Bytes() }

// The seed is the only form that it reads.
func (l *level) Sign(message []byte) []byte {
	private, err := mldsa.NewPrivateKey(l.parameters, l.private.Bytes())
	must(err)
	return sign(private, message)
}

func (l *level) SignLive(message []byte) []byte { return sign(l.private, message) }

func sign(private *mldsa.PrivateKey, message []byte) []byte {
	signature, err := private.Sign(nil, message, nil)
	must(err)
	return signature
}

func (l *level) Verify(message, signature []byte) bool {
	public, err := mldsa.NewPublicKey(l.parameters, l.public.Bytes())
	must(err)
	return mldsa.Verify(public, message, signature, nil) == nil
}

func (l *level) VerifyLive(message, signature []byte) bool {
	return mldsa.Verify(l.public, message, signature, nil) == nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
