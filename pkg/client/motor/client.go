// SPDX-License-Identifier: Apache-2.0

// Package motor lets a program have tasks carried out by Motor Cortex: it starts runs, follows them, answers what they ask, and keeps the skills and
// credentials that they use. Tools returns the same for a model, as definitions of functions, and a Toolset carries out the calls.
//
// Everything is done with the rights of the account that the client was made for. Texts of runs and skills come from models, tools and pages. They are
// data: a program that shows them to a model says so, and one that shows them at a terminal escapes them.
package motor

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned"
	typed "motorcortex.dev/motorcortex/pkg/client/clientset/versioned/typed/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// Clients are what a Client works with. Tests pass fakes.
type Clients struct {
	Motor versioned.Interface
	Core  kubernetes.Interface
	// Metadata lists credentials: the values of Secrets are not read for that.
	Metadata metadata.Interface
}

// Client works in one namespace. It is safe for use by several goroutines.
type Client struct {
	clients   Clients
	namespace string
	// observe is how long an answer waits for the operator to have looked at it.
	observe time.Duration
	// patience is for how long the API server may be away before that ends a watch, and pause the time between two tries.
	patience, pause time.Duration
	// quiet is how long a run is not read while no event tells of a change: the connection of a watch can be dead without an error.
	quiet time.Duration
	now   func() time.Time
}

// New returns a client for the namespace, with the account of the configuration.
func New(config *rest.Config, namespace string) (*Client, error) {
	motor, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of motorcortex.dev: %w", err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of the cluster: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of metadata: %w", err)
	}
	return NewFor(Clients{Motor: motor, Core: core, Metadata: meta}, namespace)
}

// NewFor is New with clients that exist already. The namespace must not be empty.
func NewFor(clients Clients, namespace string) (*Client, error) {
	if namespace == "" {
		return nil, errors.New("the namespace is empty: name the one in which runs are created")
	}
	return &Client{
		clients: clients, namespace: namespace,
		observe: 3 * time.Second, patience: time.Minute, pause: time.Second, quiet: 30 * time.Second, now: time.Now,
	}, nil
}

// Namespace is the one that the client works in.
func (c *Client) Namespace() string { return c.namespace }

func (c *Client) runs() typed.MotorRunInterface {
	return c.clients.Motor.MotorCortexV1alpha1().MotorRuns(c.namespace)
}

func (c *Client) skills() typed.SkillInterface {
	return c.clients.Motor.MotorCortexV1alpha1().Skills(c.namespace)
}

// refused says in words why the API server did not do something. role is the ClusterRole that permits it.
func (c *Client) refused(what string, err error, role string) error {
	if reason, found := asks.ByPolicy(err); found && apierrors.IsForbidden(err) {
		return fmt.Errorf("%s: %s", what, reason)
	}
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w. Have the ClusterRole %s bound to this account in the namespace %s", what, err, role, c.namespace)
	case apierrors.IsInvalid(err):
		return fmt.Errorf("%s: it is refused: %s", what, invalid(err))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// invalid is what the API server found wrong with an object, in one line without what it did not look at.
func invalid(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Details == nil {
		return err.Error()
	}
	all := ""
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "" && cause.Field != "<nil>" {
			if all != "" {
				all += "; "
			}
			all += cause.Field + ": " + cause.Message
		}
	}
	if all == "" {
		return err.Error()
	}
	return all
}

// head is the beginning of a text, of at most size bytes, with a sign that there is more.
func head(s string, size int) string {
	if len(s) <= size {
		return s
	}
	const more = "…"
	n := size - len(more)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}
