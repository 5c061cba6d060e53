// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/schemabound"
)

// ValueMisfit returns why the value of a finish call does not match the demands of the task, "" if it does.
func ValueMisfit(a config.Acceptance, value json.RawMessage) string {
	if len(a.Schemas) == 0 {
		return ""
	}
	if len(value) == 0 {
		return `the argument "value" is missing: give the result as JSON that fits the schema in your rules`
	}
	if err := jsonbound.Check(value, catalog.ArgumentLimits); err != nil {
		return fmt.Sprintf(`the argument "value" cannot be read: %v`, err)
	}
	if key := repeatedKey(value); key != "" {
		return fmt.Sprintf(`the argument "value" has the key %q twice in one object`, catalog.Shorten(key))
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Sprintf(`the argument "value" is no JSON: %v`, err)
	}
	for _, raw := range a.Schemas {
		s, err := schemabound.Read(json.RawMessage(raw), len(value))
		if err != nil {
			return fmt.Sprintf("the value cannot be held to its schema: %v", err)
		}
		fits, err := schemabound.Fits(s, v)
		switch {
		case err != nil:
			return fmt.Sprintf("the value cannot be held to its schema: %v", err)
		case fits:
			continue
		}
		if object, ok := v.(map[string]any); ok {
			if why := catalog.Misfit(s, object, "property"); why != "" {
				return "the value does not fit its schema: " + why
			}
		}
		return fmt.Sprintf("the value does not fit its schema%s: it is %s", catalog.TypeOf(s), catalog.KindOf(v))
	}
	return ""
}

// repeatedKey returns a key that an object of the value has twice, "" if there is none. Some readers take the first and some the last of them,
// and the schema would be checked against only one. The value is JSON, and not nested deeper than catalog.ArgumentLimits.
func repeatedKey(value json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(value))
	var objects []map[string]bool // nil for a list
	key := false
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		top := len(objects) - 1
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				objects, key = append(objects, map[string]bool{}), true
				continue
			case '[':
				objects, key = append(objects, nil), false
				continue
			}
			objects = objects[:top]
		case string:
			if key {
				if objects[top][token] {
					return token
				}
				objects[top][token], key = true, false
				continue
			}
		}
		key = len(objects) > 0 && objects[len(objects)-1] != nil
	}
}
