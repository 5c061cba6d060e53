// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

func aCluster(t *testing.T) (c *Cluster, now *time.Time, stop context.CancelFunc) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c, err := New(ctx, &rest.Config{Host: "127.0.0.1:1"}, Options{Audience: "mcp"})
	if err != nil {
		t.Fatal(err)
	}
	now = new(time.Unix(1000, 0))
	c.now = func() time.Time { return *now }
	return c, now, stop
}

func aClient(t *testing.T) *motor.Client {
	t.Helper()
	client, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset()}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func keyOf(user, namespace int) key {
	return key{account{user: fmt.Sprintf("%sns:%d", serviceAccounts, user), uid: "u"}, fmt.Sprintf("ns-%d", namespace)}
}

// One account cannot take the servers of others, and servers that are not in use make room.
func TestServersAreBounded(t *testing.T) {
	t.Parallel()
	c, now, stop := aCluster(t)
	client := aClient(t)
	first := c.add(keyOf(0, 0), client)
	if first == nil || c.add(keyOf(0, 0), client) != first || c.known(keyOf(0, 0)) != first {
		t.Fatal("a key has two servers")
	}
	for i := 1; i < maxOfAccount; i++ {
		if c.add(keyOf(0, i), client) == nil {
			t.Fatalf("namespace %d of an account is refused", i)
		}
	}
	if c.add(keyOf(0, maxOfAccount), client) != nil {
		t.Error("an account has too many servers")
	}
	for i := maxOfAccount; i < maxServers; i++ {
		if c.add(keyOf(i, 0), client) == nil {
			t.Fatalf("account %d is refused", i)
		}
	}
	if c.add(keyOf(maxServers, 0), client) != nil {
		t.Error("there are too many servers")
	}
	*now = now.Add(unused - 1)
	c.known(keyOf(0, 0))
	*now = now.Add(1)
	if c.add(keyOf(maxServers, 0), client) == nil || len(c.servers) != 2 || c.known(keyOf(0, 0)) != first {
		t.Errorf("%d servers are left of those that are not in use", len(c.servers))
	}
	stop()
	if c.add(keyOf(1, 1), client) != nil {
		t.Error("a server begins after the end")
	}
	if c.Close(); len(c.servers) != 0 {
		t.Errorf("%d servers are left", len(c.servers))
	}
}
