// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"

	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"

	"motorcortex.dev/motorcortex/internal/archive"
)

// failed sorts the error of a driver.
func (b *Bucket) failed(verb, key string, err error) error {
	err = sorted(err)
	return fmt.Errorf("%s %s in %s: %w", verb, key, b.name, err)
}

// sorted returns an error that shows no secret. It wraps archive.ErrExists or archive.ErrNotFound if the store reported that.
func sorted(err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		return archive.ErrExists
	case gcerrors.NotFound:
		if isAway(err) {
			return redacted{err}
		}
		return fmt.Errorf("%w: %w", archive.ErrNotFound, redacted{err})
	default:
		return redacted{err}
	}
}

// isAway reports whether an error that a driver calls "not found" only means that the store could not be asked. Google's driver reports
// forbidden objects so, and Azure's a host name that no name server knew. A run whose input was taken for missing would be refused for
// good, and a manager that started in an outage of names would end.
func isAway(err error) bool {
	var refused *googleapi.Error
	var unknown *net.DNSError
	return errors.As(err, &refused) && refused.Code == http.StatusForbidden || errors.As(err, &unknown)
}

// signature is the part of a URL that grants access to a store. A shared access signature of Azure is in every URL, and errors of
// connections have the URL in them; they become Events that a tenant reads.
var signature = regexp.MustCompile(`(?i)([?&](?:sig|signature|x-amz-signature|x-goog-signature)=)[^&\s"'<>]*`)

// redacted is an error without signatures in its text.
type redacted struct{ error }

// Error omits the values of signatures.
func (r redacted) Error() string { return signature.ReplaceAllString(r.error.Error(), "${1}REDACTED") }

func (r redacted) Unwrap() error { return r.error }
