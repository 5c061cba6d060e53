// SPDX-License-Identifier: Apache-2.0

package schemabound

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// No schema makes its reading or the judgement of a value take long, or ends the process.
func TestHostileSchemas(t *testing.T) {
	doubling := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
		return b.String()
	}
	deep := strings.Repeat(`{"not":`, 2000) + "true" + strings.Repeat("}", 2000)
	for name, tt := range map[string]struct {
		schema, value string
		// fits is true if a value that the schema forbids may fit, because the schema cannot be used.
		fits bool
	}{
		"itself":             {`{"type":"object","$ref":"#"}`, `{}`, true},
		"itself, below":      {`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["b"]}`, `{}`, true},
		"a ring":             {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `{}`, true},
		"a ring, shouted":    {`{"$DEFS":{"a":{"$REF":"#/$defs/a"}},"$REF":"#/$defs/a"}`, `{}`, true},
		"a ring, old words":  {`{"definitions":{"a":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}`, `{}`, true},
		"escaped":            {`{"$defs":{"a":{"$ref":"#/%24defs/a"}},"$ref":"#/$defs/a"}`, `{}`, true},
		"dynamic":            {`{"$dynamicAnchor":"x","properties":{"a":{"$dynamicRef":"#x"}},"required":["b"]}`, `{}`, true},
		"anchor":             {`{"$anchor":"x","$ref":"#x"}`, `{}`, true},
		"remote":             {`{"$ref":"https://example.org/schema","required":["b"]}`, `{}`, true},
		"a file":             {`{"$ref":"file:///etc/passwd","required":["b"]}`, `{}`, true},
		"id":                 {`{"$id":"https://example.org/x","required":["b"]}`, `{}`, true},
		"doubling":           {doubling(40), `{}`, true},
		"doubling a little":  {doubling(3), `{}`, false},
		"deep":               {deep, `{}`, true},
		"pattern":            {`{"properties":{"a":{"pattern":"((a{100}){100}){100}"}},"required":["b"]}`, `{}`, true},
		"patterns":           {`{"patternProperties":{"(x{1000}){1000}":{}},"required":["b"]}`, `{}`, true},
		"no pattern":         {`{"properties":{"a":{"pattern":"("}},"required":["b"]}`, `{}`, true},
		"many parts":         {`{"required":["b"],"enum":[` + strings.Repeat("1,", 5000) + `1]}`, `{}`, true},
		"other version":      {`{"$schema":"http://json-schema.org/draft-04/schema#","required":["b"]}`, `{}`, true},
		"old version":        {`{"$schema":"http://json-schema.org/draft-07/schema#","required":["b"]}`, `{}`, false},
		"null":               {`null`, `{}`, true},
		"no JSON":            {`{`, `{}`, true},
		"a list":             {`[]`, `{}`, true},
		"wrong types":        {`{"required":7,"properties":"x"}`, `{}`, true},
		"false":              {`{"not":{}}`, `{}`, false},
		"refers":             {`{"$defs":{"a":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":"y"}`, false},
		"long arguments":     {`{"properties":{"x":{"enum":[` + strings.Repeat("1,", 1000) + `1]}}}`, `{"x":"` + strings.Repeat("y", 90<<10) + `"}`, true},
		"short arguments":    {`{"properties":{"x":{"enum":[` + strings.Repeat("1,", 1000) + `1]}}}`, `{"x":"y"}`, false},
		"multiple of zero":   {`{"properties":{"x":{"multipleOf":0}},"required":["b"]}`, `{"x":1}`, false},
		"unique":             {`{"properties":{"x":{"uniqueItems":true}}}`, `{"x":[1,1]}`, false},
		"property of no use": {`{"properties":{"$ref":{"type":"string"}},"required":["b"]}`, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			if got := mayFit(t, tt.schema, tt.value); got != tt.fits {
				t.Errorf("it may fit: %v", got)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// mayFit reports whether the value may fit the schema: it fits, or the schema cannot be used.
func mayFit(t *testing.T, schema, value string) bool {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return false
	}
	s, err := Read(json.RawMessage(schema), len(value))
	return err != nil || MayFit(s, v)
}

func TestFits(t *testing.T) {
	t.Parallel()
	s, err := Read(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`), 100)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{`{"n":1}`: true, `{"n":0}`: false, `{"n":"1"}`: false, `{}`: false, `[]`: false, `null`: false} {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatal(err)
		}
		if fits, err := Fits(s, v); fits != want || err != nil {
			t.Errorf("%s: %v, %v", value, fits, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"]}`, `{"text":"x"}`)
	f.Add(`{"$defs":{"a":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":1}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{}}`)
	f.Add(`{"patternProperties":{"^a{3}$":{"pattern":"x+"}},"additionalProperties":{"oneOf":[{},{"not":{}}]}}`, `{"aaa":"x"}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		if len(value) > 32<<10 {
			return
		}
		if first, second := mayFit(t, schema, value), mayFit(t, schema, value); first != second {
			t.Errorf("%v, then %v", first, second)
		}
	})
}
