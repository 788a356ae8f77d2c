// Package wire is what every partner written in Go speaks: a JSON request per line in, a JSON answer per line out
// (see ../../README.md).
package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

// Request holds the fields of all requests.
type Request struct {
	Ask, Level, Seed, Form, Key, Payload, Typ, Token string
	Public, Message, Content, Aad                    string
	Deterministic, Detached, Untagged                bool
}

// Answer is what goes back.
type Answer map[string]any

// ErrRefused is what the library says of an input that is not valid.
var ErrRefused = errors.New("refused")

// Asks maps the name of a request to what answers it.
type Asks map[string]func(Request) (Answer, error)

// Serve answers until the driver closes the pipe. `module` is the library's, `abilities` what it says besides of itself.
func Serve(module string, asks Asks, abilities Answer) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		out, err := reply(module, asks, abilities, lines.Bytes())
		if errors.Is(err, ErrRefused) {
			out = Answer{"refused": err.Error()}
		} else if err != nil {
			out = Answer{"error": err.Error()}
		}
		json.NewEncoder(os.Stdout).Encode(out)
	}
}

func reply(module string, asks Asks, abilities Answer, line []byte) (Answer, error) {
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	if r.Ask == "hello" {
		return hello(module, asks, abilities)
	}
	answer, known := asks[r.Ask]
	if !known {
		return nil, fmt.Errorf("no request is named %q", r.Ask)
	}
	return answer(r)
}

func hello(module string, asks Asks, abilities Answer) (Answer, error) {
	said := Answer{}
	for name, what := range abilities {
		said[name] = what
	}
	build, _ := debug.ReadBuildInfo()
	for _, dependency := range build.Deps {
		if dependency.Path == module {
			said["version"] = dependency.Version
		}
	}
	if said["version"] == nil {
		return nil, errors.New("the build does not say which library it holds")
	}
	names := []string{}
	for name := range asks {
		names = append(names, name)
	}
	said["asks"] = names
	return said, nil
}

// Refusing is `err` as the library's judgement of an input.
func Refusing(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}
