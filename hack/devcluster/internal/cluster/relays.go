// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/relay"
)

// RunForward is the forwarder's process: it listens on the machine and dials in the cluster's network.
func RunForward(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: %s LISTEN TARGET", verbForward)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", args[0])
	if err != nil {
		return err
	}
	l, err := newLayout("")
	if err != nil {
		return err
	}
	return relay.Forward(ctx, listener, l.namespace().DialContext, args[1])
}

// RunUplink is the uplink's process: it listens in the cluster's network and dials from the machine.
func RunUplink(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s LISTEN", verbUplink)
	}
	l, err := newLayout("")
	if err != nil {
		return err
	}
	listener, err := l.namespace().Listen(ctx, args[0])
	if err != nil {
		return err
	}
	return relay.Uplink(ctx, listener, (&net.Dialer{}).DialContext)
}
