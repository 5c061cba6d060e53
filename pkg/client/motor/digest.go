// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// maxDigestDepth bounds the nesting of the arguments of a call, as the operator does. Deeper ones are digested as a text.
const maxDigestDepth = 1000

// errNoObject is of arguments that are digested as a text.
var errNoObject = errors.New("they are no JSON object, or have a key twice")

// argsDigest returns "sha256:…" of a call, as the operator makes action.argsDigest: of the name of the tool, a line break, and the arguments in canonical JSON.
func argsDigest(tool, arguments string) string {
	sum := sha256.Sum256([]byte(tool + "\n" + canonical(arguments)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonical is arguments with sorted keys, no space between, numbers as they are written, and only the escapes that JSON needs.
func canonical(arguments string) string {
	var v any = arguments
	if object, err := objectOf(arguments); err == nil {
		v = object
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // No digest is that of it.
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func objectOf(arguments string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber() // A float64 would make different large numbers equal.
	v, err := digested(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	return object, nil
}

// digested reads one value. A key that is there twice is an error: readers differ in which of the two they take.
func digested(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		return token, nil
	case depth >= maxDigestDepth:
		return nil, errNoObject
	case delim == '[':
		list := []any{}
		for d.More() {
			v, err := digested(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if _, twice := object[key]; !ok || twice {
			return nil, errNoObject
		}
		if object[key], err = digested(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err = d.Token()
	return object, err
}
