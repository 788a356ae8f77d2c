module sealstone-interop

go 1.26

require filippo.io/mldsa v1.0.0
