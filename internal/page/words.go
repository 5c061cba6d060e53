// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/show"
)

// problem is an error that is in words already, with its HTTP status.
type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

// statusOf is the HTTP status of an error. 401 is not among them: it means that the window or the login has ended, and is answered
// before the page is asked.
func statusOf(err error) int {
	if p, ok := errors.AsType[problem](err); ok {
		return p.status
	}
	switch {
	case apierrors.IsForbidden(err):
		return http.StatusForbidden
	case apierrors.IsNotFound(err):
		return http.StatusNotFound
	case apierrors.IsConflict(err):
		return http.StatusConflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadGateway
}

// words says what went wrong, and what to do. An error of the API server can have texts of models in it.
func words(err error) string {
	if p, ok := errors.AsType[problem](err); ok {
		return show.Text(p.text)
	}
	text := show.Text(err.Error())
	switch {
	case apierrors.IsForbidden(err):
		return forbidden(err)
	case apierrors.IsUnauthorized(err):
		return "The cluster does not know you any more. Log in again. With kubectl motor ui, log in as for kubectl, and start it anew: " + text
	case apierrors.IsInvalid(err):
		return "The cluster did not take it: " + show.Text(lookup.Invalid(err))
	case errors.Is(err, context.DeadlineExceeded):
		return "The cluster did not answer in time. Try again: " + text
	case unreachable(err):
		return "The cluster cannot be reached: " + text
	}
	return text
}

// forbidden names the right that is missing, and the role that has it.
func forbidden(err error) string {
	text := show.Text(err.Error())
	if _, reason, byPolicy := strings.Cut(err.Error(), "denied request: "); byPolicy {
		return show.Text(reason)
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Details == nil {
		return text
	}
	kind := status.Status().Details.Kind
	if kind == "users" || kind == "groups" {
		return "The server of this page may not act as you: the person who runs it must give it the right. " + text
	}
	role := roles[kind]
	if role == "" {
		return "You may not do this: " + text
	}
	// What the error has besides is for a terminal: it names a role already.
	return fmt.Sprintf("You may not do this: %s. Have the ClusterRole %s bound to you there", show.Text(status.Status().Message), role)
}

// roles have the right to read a resource.
var roles = map[string]string{
	"motorruns": "motorcortex-viewer", "motorsteps": "motorcortex-viewer", "skills": "motorcortex-viewer", "skillrevisions": "motorcortex-viewer",
	"configmaps": "view",
}

func unreachable(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	_, ok := errors.AsType[*url.Error](err)
	return ok
}
