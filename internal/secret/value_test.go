// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/yaml"
)

func TestValueIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const value = "sk-very-secret"
	s := New(value)
	type endpoint struct {
		Model  string
		APIKey Value
	}
	e := endpoint{Model: "m", APIKey: s}
	type holder struct {
		E *endpoint
		M map[string]Value
		K map[Value]int
		L []Value
		A any
		u Value
	}
	h := holder{E: &e, M: map[string]Value{"a": s}, K: map[Value]int{s: 1}, L: []Value{s}, A: s, u: s}
	printed := map[string]string{}
	for _, v := range []any{s, &s, e, &e, h, &h, []any{s, e}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10.3s"} {
			printed[fmt.Sprintf("%s of %T", verb, v)] = fmt.Sprintf(verb, v)
		}
		printed[fmt.Sprintf("Sprint of %T", v)] = fmt.Sprint(v)
		if b, err := json.Marshal(v); err != nil {
			t.Error(err)
		} else {
			printed[fmt.Sprintf("JSON of %T", v)] = string(b)
		}
		if b, err := yaml.Marshal(v); err != nil {
			t.Error(err)
		} else {
			printed[fmt.Sprintf("YAML of %T", v)] = string(b)
		}
		for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
			"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
			"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		} {
			var b bytes.Buffer
			slog.New(handler(&b)).Info("m", "v", v, slog.Group("g", slog.Any("v", v)))
			logr.FromSlogHandler(handler(&b)).WithValues("w", v).Error(fmt.Errorf("wrapped %v", v), "m", "v", v)
			printed[fmt.Sprintf("slog %s of %T", name, v)] = b.String()
		}
	}
	printed["error"] = errors.Join(fmt.Errorf("%w: %v", errors.New("a"), e)).Error()
	printed["concatenation"] = "key " + s.String()
	for how, text := range printed {
		hex := fmt.Sprintf("%x", value)
		if strings.Contains(text, "very") || strings.Contains(strings.ToLower(text), hex) {
			t.Errorf("%s prints the secret: %s", how, strings.ReplaceAll(text, value, "<the secret>"))
		}
	}
	if s.RevealText() != value {
		t.Error("Reveal does not give the value")
	}
}

func TestValuesAreEqual(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a, b Value
		want bool
	}{
		"the same text":   {New("one"), New([]byte("one")), true},
		"another one":     {New("one"), New("two"), false},
		"a beginning":     {New("one"), New("on"), false},
		"none":            {Value{}, New(""), true},
		"none, and one":   {Value{}, New("one"), false},
		"one, and none":   {New("one"), Value{}, false},
		"a NUL, and none": {New("\x00"), Value{}, false},
	} {
		if got := tt.a.Equal(tt.b); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
