// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func inputDefs() []v1alpha1.SkillInput {
	return []v1alpha1.SkillInput{
		{Name: "to", Type: v1alpha1.InputString, Required: true},
		{Name: "count", Type: v1alpha1.InputInteger, Default: new("3"), Required: true},
		{Name: "rate", Type: v1alpha1.InputNumber, Options: []string{"0.5", "1"}},
		{Name: "dry-run", Type: v1alpha1.InputBoolean},
		{Name: "note", Default: new("")},
	}
}

func runInputs(pairs ...string) (given []v1alpha1.RunInput) {
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, v1alpha1.RunInput{Name: pairs[i], Value: pairs[i+1]})
	}
	return given
}

func TestCheckInputs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		given []v1alpha1.RunInput
		want  []Input
	}{
		{runInputs("to", "a b"), []Input{{"to", "a b"}, {"count", int64(3)}, {"note", ""}}},
		{
			runInputs("dry-run", "true", "rate", "1.0", "count", "-9223372036854775808", "to", "", "note", "n"),
			[]Input{{"to", ""}, {"count", int64(-1 << 63)}, {"rate", json.Number("1.0")}, {"dry-run", true}, {"note", "n"}},
		},
	} {
		got, err := CheckInputs(inputDefs(), tt.given)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if got, err := CheckInputs(nil, nil); got != nil || err != nil {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}

func TestCheckInputsRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		given []v1alpha1.RunInput
		want  string
	}{
		{nil, "the input to is missing: add it to spec.inputs"},
		{runInputs("to", "a", "cc", "b"), `spec.inputs[1]: the skill has no input "cc": it has to, count, rate, dry-run, note`},
		{runInputs("to", "a", "to", "b"), "spec.inputs[1]: to is given twice"},
		{runInputs("to", "a", "count", "3.0"), `spec.inputs[1] (count): "3.0" is no integer, such as 3 or -3`},
		{runInputs("to", "a", "count", "+3"), `"+3" is no integer`},
		{runInputs("to", "a", "count", "03"), `"03" is no integer`},
		{runInputs("to", "a", "count", "0x3"), `"0x3" is no integer`},
		{runInputs("to", "a", "count", " 3"), `" 3" is no integer`},
		{runInputs("to", "a", "count", ""), `"" is no integer`},
		{runInputs("to", "a", "count", "9223372036854775808"), "does not fit into 64 bits"},
		{runInputs("to", "a", "rate", "NaN"), `spec.inputs[1] (rate): "NaN" is no number`},
		{runInputs("to", "a", "rate", "Infinity"), "is too large for a number"},
		{runInputs("to", "a", "rate", "0x1p1"), `"0x1p1" is no number`},
		{runInputs("to", "a", "rate", "1_0"), `"1_0" is no number`},
		{runInputs("to", "a", "rate", "1\n"), `"1\n" is no number`},
		{runInputs("to", "a", "rate", ".5"), `".5" is no number`},
		{runInputs("to", "a", "rate", "2"), `"2" is none of the options 0.5, 1`},
		{runInputs("to", "a", "dry-run", "True"), `spec.inputs[1] (dry-run): "True" is neither true nor false`},
		{runInputs("to", "a", "count", strings.Repeat("<", 8000)), "is no integer"},
	} {
		got, err := CheckInputs(inputDefs(), tt.given)
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 300 {
			t.Errorf("%v: %v, %v\nwant %s", tt.given, got, err, tt.want)
		}
	}
}

// The error about a missing input has its description.
func TestMissingInputIsDescribed(t *testing.T) {
	t.Parallel()
	_, err := CheckInputs([]v1alpha1.SkillInput{{Name: "to", Type: v1alpha1.InputString, Required: true, Description: "who gets the \x1b[8mmessage"}}, nil)
	if want := "the input to is missing: add it to spec.inputs. The policy says of it: who gets the \uFFFD[8mmessage"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
