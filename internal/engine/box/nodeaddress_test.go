// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
)

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
		list, _, err := s.nodeAddresses(t.Context())
		var got []string
		for _, ip := range list {
			got = append(got, ip.String())
		}
		if !slices.Equal(got, tt.want) || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// together answers a read only when another one is made beside it.
type together struct {
	nodeReader
	both sync.WaitGroup
}

func (r *together) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	r.both.Done()
	met := make(chan struct{})
	go func() { r.both.Wait(); close(met) }()
	select {
	case <-met:
		return r.nodeReader.Get(ctx, key, o, opts...)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Nothing is called in a sandbox before both were read.
func TestThePodAndItsNodeAreReadSideBySide(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "1"}}
	reader := &together{nodeReader: nodeReader{pod: pod, node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}}}
	reader.both.Add(2)
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}}
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "pod", PodUID: "1", NodeName: "node-1", NodeIP: "10.0.0.1"}
	s := &Box{Env: &runenv.Env{Live: reader, Run: run}}
	if _, read, err := s.nodeAddresses(ctx); err != nil || read.UID != "1" {
		t.Errorf("the Pod is %v, %v", read, err)
	}
}
