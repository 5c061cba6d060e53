// SPDX-License-Identifier: Apache-2.0

package toolclient_test

import (
	"errors"
	"fmt"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

func TestRemoteProblem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                      {nil, false},
		"a fault of the connection":    {toolclient.ErrUnreachable, false},
		"what is wrong with a request": {fmt.Errorf("put a file: %w", &toolclient.RemoteError{Code: toolapi.ErrTooLarge}), true},
		"another epoch":                {errors.Join(toolclient.ErrStaleEpoch, &toolclient.RemoteError{Code: toolapi.ErrStaleEpoch}), false},
		"another release":              {errors.Join(toolclient.ErrUnsupported, &toolclient.RemoteError{Code: toolapi.ErrBadRequest}), false},
	} {
		if _, ok := toolclient.RemoteProblem(tt.err); ok != tt.want {
			t.Errorf("%s: %t", name, ok)
		}
	}
}
