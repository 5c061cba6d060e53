// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

const (
	// maxDepth bounds the nesting of arguments. The definitions have four levels.
	maxDepth = 16
	// maxKeyShown is the most bytes of a key in an error.
	maxKeyShown = 100
)

// spelled returns an error for arguments with a key twice, or with one that is not spelled as in the definition. The decoder of Go ignores case and takes
// the last of two: a person who is shown the action list must not consent to an Action approve beside it.
func spelled(arguments []byte, of reflect.Type) error {
	return spelling(json.NewDecoder(bytes.NewReader(arguments)), of, 0)
}

// spelling reads one value. of is the type that it is decoded into, nil for one without keys.
func spelling(d *json.Decoder, of reflect.Type, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		return nil
	case depth >= maxDepth:
		return fmt.Errorf("they are nested more than %d deep", maxDepth)
	case delim == '[':
		for d.More() {
			if err := spelling(d, element(of), depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return errors.New("a key is no text")
		}
		if seen[key] {
			return fmt.Errorf("the key %q is there twice", head(key, maxKeyShown))
		}
		seen[key] = true
		inner, err := under(of, key)
		if err != nil {
			return err
		}
		if err := spelling(d, inner, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// under is the type of what is under a key of an object.
func under(of reflect.Type, key string) (reflect.Type, error) {
	if of == nil || of.Kind() != reflect.Struct {
		return element(of), nil
	}
	var names []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == key {
			return f.Type, nil
		}
		names = append(names, name)
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) }); i >= 0 {
		return nil, fmt.Errorf("unknown field %q: it is spelled %q", head(key, maxKeyShown), names[i])
	}
	return nil, fmt.Errorf("unknown field %q", head(key, maxKeyShown))
}

// element is the type of the elements of a list or a map, nil of another type, which the decoder refuses.
func element(of reflect.Type) reflect.Type {
	if of != nil && (of.Kind() == reflect.Slice || of.Kind() == reflect.Map) {
		return of.Elem()
	}
	return nil
}
