// Package line is the line protocol of a rival written in Go. A line `OP LEVEL RUNS` is answered with the nanoseconds of
// its own time that RUNS took, or `none` if the rival has no such form; bench/peers/common/peer.h tells the operations.
// Messages have 64 bytes, the context is empty. `check LEVEL` is answered with a public key, a message and a signature
// in hexadecimal, for somebody else to verify. The first line written is the rival's name and version.
package line

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"unsafe"
)

const (
	messages   = 32
	processCPU = 2 // CLOCK_PROCESS_CPUTIME_ID: the collector's threads count, for the collector is part of the price.
)

// Rival is a library at one level, holding one key pair.
type Rival interface {
	Keygen(seed *[32]byte)
	PublicKey() []byte
	// Sign signs with the private key from its bytes, SignLive with the live one.
	Sign(message []byte) []byte
	SignLive(message []byte) []byte
	// Verify verifies with the public key from its bytes, VerifyLive with the live one.
	Verify(message, signature []byte) bool
	VerifyLive(message, signature []byte) bool
}

// Version is the version of a module that was built in.
func Version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

// Answer answers lines until there are no more.
func Answer(version string, levels map[string]func() Rival) {
	prepared := map[string]*state{}
	fmt.Println(version)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var operation, level string
		var runs uint64
		words, _ := fmt.Sscan(lines.Text(), &operation, &level, &runs)
		make, known := levels[level]
		if !known {
			fmt.Println("none")
			continue
		}
		if prepared[level] == nil {
			prepared[level] = prepare(make())
		}
		switch {
		case operation == "check":
			prepared[level].check()
		case words == 3:
			prepared[level].time(operation, runs)
		default:
			fmt.Println("none")
		}
	}
}

type state struct {
	rival  Rival
	signed [messages][]byte
}

func prepare(rival Rival) *state {
	s := &state{rival: rival}
	for i := range s.signed {
		m := message(uint64(i))
		s.signed[i] = rival.Sign(m)
		require(rival.Verify(m, s.signed[i]))
		s.signed[i][40] ^= 1
		require(!rival.Verify(m, s.signed[i]))
		s.signed[i][40] ^= 1
	}
	return s
}

func (s *state) check() {
	m := make([]byte, 64)
	rand.Read(m)
	fmt.Printf("%x %x %x\n", s.rival.PublicKey(), m, s.rival.SignLive(m))
}

func (s *state) time(operation string, runs uint64) {
	var seed [32]byte
	start := now()
	for run := range runs {
		which := run % messages
		switch operation {
		case "keygen":
			binary.LittleEndian.PutUint64(seed[:], run)
			s.rival.Keygen(&seed)
		case "sign":
			s.rival.Sign(message(run))
		case "sign-expanded":
			s.rival.SignLive(message(run))
		case "verify":
			require(s.rival.Verify(message(which), s.signed[which]))
		case "verify-expanded":
			require(s.rival.VerifyLive(message(which), s.signed[which]))
		default:
			fmt.Println("none")
			return
		}
	}
	fmt.Println(now() - start)
}

func message(number uint64) []byte {
	m := make([]byte, 64)
	for i := range m {
		m[i] = 0x5a
	}
	binary.LittleEndian.PutUint64(m, number)
	return m
}

func require(fine bool) {
	if !fine {
		fmt.Fprintln(os.Stderr, "error: a signature was taken for what it is not")
		os.Exit(1)
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
