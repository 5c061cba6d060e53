// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"errors"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestAClientNeedsANamespace(t *testing.T) {
	t.Parallel()
	if _, err := NewFor(Clients{}, ""); err == nil {
		t.Error("there is a client without a namespace")
	}
	if c := newRig(t); c.Namespace() != "ns" {
		t.Errorf("the namespace is %s", c.Namespace())
	}
}

// A refusal says what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	kind := schema.GroupKind{Group: "motorcortex.dev", Kind: "MotorRun"}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no right": {apierrors.NewForbidden(runs, "run", errors.New("no")), `do it: motorruns.motorcortex.dev "run" is forbidden: no. Have the ClusterRole motorcortex-editor bound to this account in the namespace ns`},
		"a policy": {apierrors.NewForbidden(runs, "run", errors.New("p denied request: not you")), "do it: not you"},
		"invalid":  {apierrors.NewInvalid(kind, "run", field.ErrorList{field.Invalid(field.NewPath("spec"), 1, "bad"), field.Required(field.NewPath("x"), "y")}), "do it: it is refused: spec: Invalid value: 1: bad; x: Required value: y"},
		"another":  {errors.New("no route"), "do it: no route"},
	} {
		if got := newRig(t).refused("do it", tt.err, roleEditor).Error(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s    string
		size int
		want string
	}{{"abc", 3, "abc"}, {"abcdef", 5, "ab…"}, {"äöü", 5, "ä…"}, {"", 3, ""}} {
		if got := head(tt.s, tt.size); got != tt.want || len(got) > tt.size || !utf8.ValidString(got) {
			t.Errorf("head(%q, %d) is %q, want %q", tt.s, tt.size, got, tt.want)
		}
	}
}
