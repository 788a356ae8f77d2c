// circl as a rival. Its live keys hold the matrix.
package main

import (
	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"

	"sealstone/bench/peers/go/line"
)

func main() {
	line.Answer("circl "+line.Version("github.com/cloudflare/circl"), map[string]func() line.Rival{
		"44": new44, "65": new65, "87": new87,
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

type level44 struct {
	public       *mldsa44.PublicKey
	private      *mldsa44.PrivateKey
	publicBytes  [mldsa44.PublicKeySize]byte
	privateBytes [mldsa44.PrivateKeySize]byte
}

func new44() line.Rival {
	l := &level44{}
	l.public, l.private = mldsa44.NewKeyFromSeed(new([32]byte))
	l.public.Pack(&l.publicBytes)
	l.private.Pack(&l.privateBytes)
	return l
}

func (l *level44) Keygen(seed *[32]byte) { mldsa44.NewKeyFromSeed(seed) }

func (l *level44) PublicKey() []byte { return l.publicBytes[:] }

func (l *level44) Sign(message []byte) []byte {
	var private mldsa44.PrivateKey
	private.Unpack(&l.privateBytes)
	return sign44(&private, message)
}

func (l *level44) SignLive(message []byte) []byte { return sign44(l.private, message) }

func sign44(private *mldsa44.PrivateKey, message []byte) []byte {
	signature := make([]byte, mldsa44.SignatureSize)
	must(mldsa44.SignTo(private, message, nil, true, signature))
	return signature
}

func (l *level44) Verify(message, signature []byte) bool {
	var public mldsa44.PublicKey
	public.Unpack(&l.publicBytes)
	return mldsa44.Verify(&public, message, nil, signature)
}

func (l *level44) VerifyLive(message, signature []byte) bool {
	return mldsa44.Verify(l.public, message, nil, signature)
}

type level65 struct {
	public       *mldsa65.PublicKey
	private      *mldsa65.PrivateKey
	publicBytes  [mldsa65.PublicKeySize]byte
	privateBytes [mldsa65.PrivateKeySize]byte
}

func new65() line.Rival {
	l := &level65{}
	l.public, l.private = mldsa65.NewKeyFromSeed(new([32]byte))
	l.public.Pack(&l.publicBytes)
	l.private.Pack(&l.privateBytes)
	return l
}

func (l *level65) Keygen(seed *[32]byte) { mldsa65.NewKeyFromSeed(seed) }

func (l *level65) PublicKey() []byte { return l.publicBytes[:] }

func (l *level65) Sign(message []byte) []byte {
	var private mldsa65.PrivateKey
	private.Unpack(&l.privateBytes)
	return sign65(&private, message)
}

func (l *level65) SignLive(message []byte) []byte { return sign65(l.private, message) }

func sign65(private *mldsa65.PrivateKey, message []byte) []byte {
	signature := make([]byte, mldsa65.SignatureSize)
	must(mldsa65.SignTo(private, message, nil, true, signature))
	return signature
}

func (l *level65) Verify(message, signature []byte) bool {
	var public mldsa65.PublicKey
	public.Unpack(&l.publicBytes)
	return mldsa65.Verify(&public, message, nil, signature)
}

func (l *level65) VerifyLive(message, signature []byte) bool {
	return mldsa65.Verify(l.public, message, nil, signature)
}

type level87 struct {
	public       *mldsa87.PublicKey
	private      *mldsa87.PrivateKey
	publicBytes  [mldsa87.PublicKeySize]byte
	privateBytes [mldsa87.PrivateKeySize]byte
}

func new87() line.Rival {
	l := &level87{}
	l.public, l.private = mldsa87.NewKeyFromSeed(new([32]byte))
	l.public.Pack(&l.publicBytes)
	l.private.Pack(&l.privateBytes)
	return l
}

func (l *level87) Keygen(seed *[32]byte) { mldsa87.NewKeyFromSeed(seed) }

func (l *level87) PublicKey() []byte { return l.publicBytes[:] }

func (l *level87) Sign(message []byte) []byte {
	var private mldsa87.PrivateKey
	private.Unpack(&l.privateBytes)
	return sign87(&private, message)
}

func (l *level87) SignLive(message []byte) []byte { return sign87(l.private, message) }

func sign87(private *mldsa87.PrivateKey, message []byte) []byte {
	signature := make([]byte, mldsa87.SignatureSize)
	must(mldsa87.SignTo(private, message, nil, true, signature))
	return signature
}

func (l *level87) Verify(message, signature []byte) bool {
	var public mldsa87.PublicKey
	public.Unpack(&l.publicBytes)
	return mldsa87.Verify(&public, message, nil, signature)
}

func (l *level87) VerifyLive(message, signature []byte) bool {
	return mldsa87.Verify(l.public, message, nil, signature)
}
