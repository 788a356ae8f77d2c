// go-jose has ML-DSA where crypto/mldsa is: a Go of its own, which the go command fetches when it is told to
// (GOTOOLCHAIN in ../install.py).
module sealstone-interop-go-jose

go 1.27

require (
	github.com/go-jose/go-jose/v4 v4.1.8
	sealstone-interop v0.0.0
)

replace sealstone-interop => ../go
