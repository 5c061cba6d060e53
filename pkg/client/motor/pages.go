// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// pageSize is how many objects are read in one request, and maxObjects the most for one answer.
	pageSize, maxObjects = 250, 20_000
)

// ErrTooMany is of a namespace with more objects than are read for one answer.
var ErrTooMany = fmt.Errorf("the namespace has more than %d of them: delete some, or set spec.retention of its MotorCortex", maxObjects)

// inPages reads a list in pages until there is no more of it. read returns what the next page continues. A page that is larger than the transport of the
// client takes, which ends it with *http.MaxBytesError, is asked for again by half.
func inPages(options metav1.ListOptions, read func(metav1.ListOptions) (next string, err error)) error {
	for left := int64(maxObjects); left > 0; {
		next, err := read(options)
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge && options.Limit > 1 {
			options.Limit /= 2
			continue
		}
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
		left -= options.Limit
	}
	return ErrTooMany
}
