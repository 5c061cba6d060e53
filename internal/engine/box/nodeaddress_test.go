// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestForbiddenHasTheNode(t *testing.T) {
	t.Parallel()
	common := []toolapi.ProbeTarget{{Name: "c", Network: "tcp", Address: "10.0.0.1:1"}}
	four := []string{"10.1.2.3:10250", "10.1.2.3:6443", "[::ffff:10.1.2.3]:10250", "[64:ff9b::a01:203]:10250"}
	six := []string{"[fd00::1:2:3]:10250", "[fd00::1:2:3]:6443"}
	for name, tt := range map[string]struct{ nodes, want []string }{
		"none":                 {[]string{""}, nil},
		"no address":           {[]string{"node-1", "0.0.0.0", "::"}, nil},
		"IPv4":                 {[]string{"10.1.2.3"}, four},
		"IPv4 in its other":    {[]string{"::ffff:10.1.2.3"}, four},
		"IPv6":                 {[]string{"fd00::1:2:3"}, six},
		"both families":        {[]string{"10.1.2.3", "10.1.2.3", "fd00::1:2:3", "::ffff:10.1.2.3"}, append(slices.Clone(four), six...)},
		"both, the other way":  {[]string{"fd00::1:2:3", "10.1.2.3"}, append(slices.Clone(six), four...)},
		"the second is no use": {[]string{"fd00::1:2:3", "x"}, six},
	} {
		targets := forbidden(common, parseAddresses(tt.nodes))
		var got []string
		for _, target := range targets[1:] {
			got = append(got, target.Address)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if len(common) != 1 {
		t.Error("the common ones were changed")
	}
}

// For any number of addresses of a node, a probe has no more targets than a tool server accepts, and includes those of the first address.
func TestForbiddenIsBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250))
	}
	for common, want := range map[int]int{0: 32, 20: 52, 31: 63, 33: 61, 60: 64, 61: 65} {
		got := forbidden(make([]toolapi.ProbeTarget, common), parseAddresses(many))
		if len(got) != want {
			t.Errorf("beside %d others there are %d targets, want %d", common, len(got), want)
		}
		if got[common].Address != "10.0.0.1:10250" {
			t.Errorf("beside %d others the first is %v", common, got[common])
		}
	}
}

// nodeReader has a Pod and a Node, or refuses to return them.
type nodeReader struct {
	client.Reader
	pod        *corev1.Pod
	node       *corev1.Node
	podErr     error
	nodeErr    error
	nodesAsked int
}

func (r *nodeReader) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	gone := apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	switch o := o.(type) {
	case *corev1.Pod:
		if r.podErr != nil || r.pod == nil || key != client.ObjectKeyFromObject(r.pod) {
			return errors.Join(r.podErr, ifNil(r.podErr, gone))
		}
		r.pod.DeepCopyInto(o)
	case *corev1.Node:
		r.nodesAsked++
		if r.nodeErr != nil || r.node == nil || key.Name != r.node.Name {
			return errors.Join(r.nodeErr, ifNil(r.nodeErr, gone))
		}
		r.node.DeepCopyInto(o)
	}
	return nil
}

func ifNil(err, other error) error {
	if err == nil {
		return other
	}
	return nil
}

// Every address of the node counts that the manager can know, and addresses that it could not read for a moment are no reason to test less.
func TestAddressesOfTheNode(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "node-1", nil)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run-motor-sandbox", UID: "1"}}
	pod.Status.HostIPs = []corev1.HostIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	another := pod.DeepCopy()
	another.UID = "2"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "node-1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeInternalIP, Address: "192.168.7.1"},
		{Type: corev1.NodeExternalIP, Address: "198.51.100.7"}, {Type: corev1.NodeExternalDNS, Address: "198.51.100.8"},
	}
	for name, tt := range map[string]struct {
		reader   nodeReader
		nodeName string
		want     []string
		fails    bool
	}{
		"all of them":             {nodeReader{pod: pod, node: node}, "node-1", []string{"10.0.0.1", "fd00::1", "192.168.7.1", "198.51.100.7"}, false},
		"nodes may not be read":   {nodeReader{pod: pod, nodeErr: forbidden}, "node-1", []string{"10.0.0.1", "fd00::1"}, false},
		"the node is gone":        {nodeReader{pod: pod}, "node-1", []string{"10.0.0.1", "fd00::1"}, false},
		"no node is known":        {nodeReader{pod: pod}, "", []string{"10.0.0.1", "fd00::1"}, false},
		"another Pod of its name": {nodeReader{pod: another, node: node}, "node-1", []string{"10.0.0.1", "192.168.7.1", "198.51.100.7"}, false},
		"the Pod is gone":         {nodeReader{node: node}, "node-1", []string{"10.0.0.1", "192.168.7.1", "198.51.100.7"}, false},
		"the Pod cannot be read":  {nodeReader{podErr: errors.New("away"), node: node}, "node-1", nil, true},
		"the node cannot be read": {nodeReader{pod: pod, nodeErr: errors.New("away")}, "node-1", nil, true},
	} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}}
		run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: pod.Name, PodUID: "1", NodeName: tt.nodeName, NodeIP: "10.0.0.1"}
		s := &Box{Env: &runenv.Env{Live: &tt.reader, Run: run}}
		list, err := s.nodeAddresses(t.Context())
		var got []string
		for _, ip := range list {
			got = append(got, ip.String())
		}
		if !slices.Equal(got, tt.want) || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
