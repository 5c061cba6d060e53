// SPDX-License-Identifier: Apache-2.0

// Package secret has the type of secret values.
package secret

import (
	"bytes"
	"fmt"
)

// hidden is shown in place of a value.
const hidden = "[hidden]"

// Value is a secret value. It is hidden from printing, logging and encoding. It is behind a pointer, because fmt does not call a value's
// own formatter where the verb does not fit the containing type. The zero value is an empty secret.
type Value struct{ b *[]byte }

// New returns the value of a text. An empty one is the zero value.
func New[T ~string | ~[]byte](text T) Value {
	if len(text) == 0 {
		return Value{}
	}
	b := []byte(text)
	return Value{&b}
}

// Reveal returns the value itself, nil if it is empty. The caller must not change it.
func (v Value) Reveal() []byte {
	if v.b == nil {
		return nil
	}
	return *v.b
}

// RevealText returns the value itself as a text.
func (v Value) RevealText() string { return string(v.Reveal()) }

// IsEmpty reports whether there is no value.
func (v Value) IsEmpty() bool { return len(v.Reveal()) == 0 }

// Equal reports whether both are the same value.
func (v Value) Equal(other Value) bool { return bytes.Equal(v.Reveal(), other.Reveal()) }

// String hides the value.
func (Value) String() string { return hidden }

// GoString hides the value.
func (Value) GoString() string { return hidden }

// Format hides the value from every verb.
func (Value) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(hidden)) }

// MarshalText hides the value from encoders.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }
