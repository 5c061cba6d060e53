// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, tt := range map[string]struct {
		err    error
		status int
		want   string
	}{
		"a right is missing":      {apierrors.NewForbidden(runs, "", errors.New("no")), 403, "Have the ClusterRole motorcortex-viewer bound to you"},
		"of something else":       {apierrors.NewForbidden(secrets, "", errors.New("no")), 403, "You may not do this: secrets is forbidden"},
		"a server that may not":   {apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, "dana", errors.New("cannot impersonate")), 403, "The server of this page may not act as you"},
		"refused by a policy":     {apierrors.NewForbidden(runs, "run", errors.New("policy denied request: dana may not answer")), 403, "dana may not answer"},
		"logged out":              {apierrors.NewUnauthorized("token has expired"), 502, "Log in again"},
		"not there":               {apierrors.NewNotFound(runs, "run"), 404, "not found"},
		"not valid":               {apierrors.NewInvalid(schema.GroupKind{Kind: "MotorRun"}, "run", field.ErrorList{field.Invalid(field.NewPath("spec", "x"), "v", "is wrong")}), 422, `The cluster did not take it: spec.x: Invalid value: "v": is wrong`},
		"away":                    {fmt.Errorf("list: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")}), 502, "The cluster cannot be reached: list: dial: connection refused"},
		"slow":                    {fmt.Errorf("list: %w", context.DeadlineExceeded), 502, "did not answer in time"},
		"in words already":        {problem{409, "Look again\u202e."}, 409, `Look again\u202e.`},
		"a text of a model":       {errors.New("it says \x1b[2J"), 502, `it says \u001b[2J`},
		"changed since":           {apierrors.NewConflict(runs, "run", errors.New("changed")), 409, "changed"},
		"a wrapped right":         {fmt.Errorf("list MotorRuns: %w", apierrors.NewForbidden(runs, "", errors.New("no"))), 403, "motorcortex-viewer"},
		"an answer without words": {notTaken(errors.New("ns/run did not take it: the run is gone")), 409, "the run is gone"},
		"an answer on its way":    {notTaken(fmt.Errorf("send: %w", &net.OpError{Op: "dial", Err: errors.New("no route")})), 502, "no route"},
	} {
		if got := words(tt.err); !strings.Contains(got, tt.want) || statusOf(tt.err) != tt.status {
			t.Errorf("%s: %d, %q; want %d, %q", name, statusOf(tt.err), got, tt.status, tt.want)
		}
	}
}
