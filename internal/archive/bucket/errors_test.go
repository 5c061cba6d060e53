// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"

	"motorcortex.dev/motorcortex/internal/archive"
)

func TestIsAway(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"forbidden by Google":          {&googleapi.Error{Code: 403}, true},
		"not there, says Google":       {&googleapi.Error{Code: 404}, false},
		"a name that no server knows":  {&url.Error{Op: "Get", URL: "u", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}}, true},
		"something else that is wrong": {errors.New("no such host"), false},
	} {
		if got := isAway(fmt.Errorf("blob: %w", tt.err)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`Get "https://a.blob.core.windows.net/c/k?sv=2024&sig=q%2Fw%3D&se=2026": refused`: `Get "https://a.blob.core.windows.net/c/k?sv=2024&sig=REDACTED&se=2026": refused`,
		`Put https://h/b?SIG=abc`: `Put https://h/b?SIG=REDACTED`,
		`https://h/b?X-Amz-Signature=00ff and https://h/?X-Goog-Signature=ff00`: `https://h/b?X-Amz-Signature=REDACTED and https://h/?X-Goog-Signature=REDACTED`,
		`a design=1 says nothing`:                   `a design=1 says nothing`,
		"https://h/?signed=1&prefix=sig=notasecret": "https://h/?signed=1&prefix=sig=notasecret",
	} {
		if got := (redacted{errors.New(text)}).Error(); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
	}
	if err := sorted(fmt.Errorf("?sig=secret %w", archive.ErrDifferent)); !errors.Is(err, archive.ErrDifferent) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
