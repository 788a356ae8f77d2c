// go-jose has ML-DSA where crypto/mldsa is, in Go 1.27: ./build asks the go command to fetch it.
module sealstone-bench-go-jose

go 1.27

require github.com/go-jose/go-jose/v4 v4.1.8
