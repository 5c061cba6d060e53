// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// maxShownValue is the most bytes of a value, or of names, that an error repeats.
const maxShownValue = 100

// Input is an input of a skill with its value.
type Input struct {
	Name string
	// Value is a string, an int64, a json.Number or a bool.
	Value any
}

// CheckInputs returns the inputs of a run: the given values, or else their defaults, in the order of the definitions. An input with neither
// is omitted. The error names the wrong entry of spec.inputs, or the missing input.
func CheckInputs(defs []v1alpha1.SkillInput, given []v1alpha1.RunInput) ([]Input, error) {
	values := make(map[string]any, len(given))
	for i := range given {
		name := given[i].Name
		n := slices.IndexFunc(defs, func(d v1alpha1.SkillInput) bool { return d.Name == name })
		if n < 0 {
			return nil, fmt.Errorf("spec.inputs[%d]: the skill has no input %q: %s", i, name, inputNames(defs))
		}
		if _, double := values[name]; double {
			return nil, fmt.Errorf("spec.inputs[%d]: %s is given twice", i, name)
		}
		v, err := allowedValue(&defs[n], given[i].Value)
		if err != nil {
			return nil, fmt.Errorf("spec.inputs[%d] (%s): %w", i, name, err)
		}
		values[name] = v
	}
	var inputs []Input
	for i := range defs {
		d := &defs[i]
		v, ok := values[d.Name]
		switch {
		case ok:
		case d.Default != nil:
			var err error
			if v, err = allowedValue(d, *d.Default); err != nil {
				return nil, fmt.Errorf("the default of the input %s: %w", d.Name, err)
			}
		case d.Required:
			return nil, fmt.Errorf("the input %s is missing: add it to spec.inputs%s", d.Name, described(d))
		default:
			continue
		}
		inputs = append(inputs, Input{Name: d.Name, Value: v})
	}
	return inputs, nil
}

// described is the policy's description of an input, as the end of an error for the person who fills the input in.
func described(d *v1alpha1.SkillInput) string {
	if d.Description == "" {
		return ""
	}
	return ". The policy says of it: " + text.CutBytes(text.Printable(d.Description), maxShownValue)
}

func inputNames(defs []v1alpha1.SkillInput) string {
	if len(defs) == 0 {
		return "it has none"
	}
	names := make([]string, 0, len(defs))
	for i := range defs {
		names = append(names, defs[i].Name)
	}
	return "it has " + text.CutBytes(strings.Join(names, ", "), maxShownValue)
}

// allowedValue reads a value of the input that is one of its options, if it has any. Options are compared by their meaning: 1.0 is 1.
func allowedValue(d *v1alpha1.SkillInput, value string) (any, error) {
	v, err := inputValue(d.Type, value)
	if err != nil || len(d.Options) == 0 {
		return v, err
	}
	for _, o := range d.Options {
		if allowed, err := inputValue(d.Type, o); err == nil && sameValue(v, allowed) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%s is none of the options %s", shownValue(value), text.CutBytes(strings.Join(d.Options, ", "), maxShownValue))
}

func sameValue(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if !isNumber || !both {
		return a == b
	}
	// Both were read as numbers before.
	m, _ := x.Float64()
	n, _ := y.Float64()
	return m == n
}

// inputValue reads a value in the form that its type has in JSON, a string without its quotes.
func inputValue(t v1alpha1.InputType, value string) (any, error) {
	switch t {
	case v1alpha1.InputInteger:
		n, err := strconv.ParseInt(value, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%s does not fit into 64 bits", shownValue(value))
		}
		// No other spelling of a number is JSON.
		if err != nil || strconv.FormatInt(n, 10) != value {
			return nil, fmt.Errorf("%s is no integer, such as 3 or -3", shownValue(value))
		}
		return n, nil
	case v1alpha1.InputNumber:
		f, err := strconv.ParseFloat(value, 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || math.IsInf(f, 0):
			return nil, fmt.Errorf("%s is too large for a number", shownValue(value))
		case err != nil || strings.TrimSpace(value) != value || !json.Valid([]byte(value)):
			return nil, fmt.Errorf("%s is no number, such as 3 or 0.5", shownValue(value))
		}
		return json.Number(value), nil
	case v1alpha1.InputBoolean:
		if value != "true" && value != "false" {
			return nil, fmt.Errorf("%s is neither true nor false", shownValue(value))
		}
		return value == "true", nil
	default:
		return value, nil
	}
}

func shownValue(value string) string { return strconv.Quote(text.CutBytes(value, maxShownValue)) }
