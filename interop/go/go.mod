module sealstone-interop

go 1.26

require (
	filippo.io/mldsa v1.0.0
	github.com/veraison/go-cose v1.3.0
)

require (
	github.com/fxamacker/cbor/v2 v2.5.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)

require (
	github.com/cloudflare/circl v1.6.5
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
