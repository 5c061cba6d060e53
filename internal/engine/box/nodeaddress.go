// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/internal/proof"
)

// nodeAddresses returns the addresses of the sandbox's node that the manager knows: the one in the status, those of the Pod and those of the Node.
// A policy may block one address, or one family, and leave another one open. A manager for named namespaces alone may not read nodes. The Pod is the
// sandbox's as the API server has it, an empty one if it is gone.
func (s *Box) nodeAddresses(ctx context.Context) ([]netip.Addr, *corev1.Pod, error) {
	sb := s.Env.Run.Status.Sandbox
	var pod corev1.Pod
	var node corev1.Node
	var podErr, nodeErr error
	// The first call of a run waits for both of them.
	var reads sync.WaitGroup
	reads.Go(func() {
		podErr = s.Env.Live.Get(ctx, types.NamespacedName{Namespace: s.Env.Run.Namespace, Name: sb.PodName}, &pod)
	})
	if sb.NodeName != "" {
		nodeErr = s.Env.Live.Get(ctx, types.NamespacedName{Name: sb.NodeName}, &node)
	}
	reads.Wait()
	if podErr != nil && !apierrors.IsNotFound(podErr) {
		return nil, nil, fmt.Errorf("read the sandbox Pod for the addresses of its node: %w", podErr)
	}
	if nodeErr != nil && !apierrors.IsNotFound(nodeErr) && !apierrors.IsForbidden(nodeErr) {
		return nil, nil, fmt.Errorf("read the node of the sandbox for its addresses: %w", nodeErr)
	}
	if string(pod.UID) != sb.PodUID {
		pod = corev1.Pod{}
	}
	return proof.NodeAddresses(sb.NodeIP, &pod, &node), &pod, nil
}
