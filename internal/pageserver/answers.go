// SPDX-License-Identifier: Apache-2.0

package pageserver

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// turns is how many requests of the page have large answers in memory at once.
const turns = 6

// parts is a client that asks for a smaller part of a list if the one that it was to read is too large. The rest is read as the rest of any list.
type parts struct{ client.WithWatch }

func (p parts) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	for size := (&client.ListOptions{}).ApplyOptions(options).Limit; ; size /= 2 {
		err := p.WithWatch.List(ctx, list, append(slices.Clip(options), client.Limit(size))...)
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); !tooLarge || size <= 1 {
			return err
		}
	}
}
