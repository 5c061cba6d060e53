// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// verifyDeadline is for each of the things that are verified.
const verifyDeadline = 60 * time.Second

// verify proves what "up" promises: a Ready node, DNS that answers, and Pods of which those that a
// NetworkPolicy isolates are isolated and the others are not.
func (c *Cluster) verify(ctx context.Context) error {
	api, err := c.api()
	if err != nil {
		return err
	}
	if err := wait.Until(ctx, verifyDeadline, 50*time.Millisecond, api.nodeReady); err != nil {
		return c.failure("kubelet", err)
	}
	c.out.Printf("node ready")
	if err := wait.Until(ctx, verifyDeadline, 50*time.Millisecond, c.resolves); err != nil {
		return c.failure("coredns", err)
	}
	return c.verifyPods(ctx, api)
}

func (a apiClient) nodeReady(ctx context.Context) error {
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := a.get(ctx, "/api/v1/nodes/"+nodeName, &node); err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status == "True" {
			return nil
		}
		return fmt.Errorf("the node is not ready: %s", condition.Message)
	}
	return errors.New("the node has not reported yet")
}

// resolves asks the DNS service by its service address, so that kube-proxy is proved too.
func (c *Cluster) resolves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return c.namespace().DialContext(ctx, network, dnsService+":53")
	}}
	addresses, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+dnsDomain+".")
	if err != nil {
		return fmt.Errorf("DNS does not answer: %w", err)
	}
	if !slices.Contains(addresses, apiService) {
		return fmt.Errorf("DNS answers %v for the API server's service, not %s", addresses, apiService)
	}
	return nil
}

// verifyPods runs two Pods. The free one reaches the API server and resolves names, so that the
// isolated one's failure to reach anything is the policy's doing and not a broken network's.
func (c *Cluster) verifyPods(ctx context.Context, api apiClient) error {
	namespace := fmt.Sprintf("devcluster-check-%d", time.Now().Unix())
	root := "/api/v1/namespaces/" + namespace
	pods := map[string]object{
		"free":     c.probePod("free", []string{"open", apiAddress, apiService + ":443"}, []string{"resolve", "kubernetes.default"}),
		"isolated": c.probePod("isolated", []string{"closed", apiAddress, apiService + ":443", nodeIP + ":10250"}),
	}
	if err := api.apply(ctx, root, object{"apiVersion": "v1", "kind": "Namespace"}); err != nil {
		return err
	}
	policy := object{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
		"spec": object{
			"podSelector": object{"matchLabels": object{"probe": "isolated"}}, "policyTypes": []string{"Ingress", "Egress"},
		},
	}
	if err := api.apply(ctx, "/apis/networking.k8s.io/v1/namespaces/"+namespace+"/networkpolicies/isolated", policy); err != nil {
		return err
	}
	err := wait.Until(ctx, verifyDeadline, 50*time.Millisecond, func(ctx context.Context) error {
		for name, pod := range pods {
			// Refused until the controller manager has made the namespace's service account.
			if err := api.apply(ctx, root+"/pods/"+name, pod); err != nil {
				return err
			}
		}
		return nil
	})
	for _, name := range []string{"free", "isolated"} {
		if err == nil {
			err = c.podSucceeds(ctx, api, root+"/pods/"+name)
		}
	}
	if err != nil {
		return fmt.Errorf("self-check with Pods (they are left in the namespace %s): %w", namespace, err)
	}
	return api.delete(ctx, root)
}

// probePod is a Pod that runs our own probe in one container for each check, as restricted as Pod
// Security wants it.
func (c *Cluster) probePod(label string, checks ...[]string) object {
	var containers []object
	for i, check := range checks {
		containers = append(containers, object{
			"name": fmt.Sprintf("check-%d", i), "image": c.record.PauseImage, "imagePullPolicy": "Never",
			"args":                     append([]string{"probe"}, check...),
			"terminationMessagePolicy": "FallbackToLogsOnError",
			"securityContext": object{
				"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
				"capabilities": object{"drop": []string{"ALL"}},
			},
		})
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"labels": object{"probe": label}}, "spec": object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
		"terminationGracePeriodSeconds": 0,
		"securityContext":               object{"runAsNonRoot": true, "seccompProfile": object{"type": "RuntimeDefault"}},
		"containers":                    containers,
	}}
}

func (c *Cluster) podSucceeds(ctx context.Context, api apiClient, path string) error {
	err := wait.Until(ctx, verifyDeadline, 50*time.Millisecond, func(ctx context.Context) error {
		var pod podStatus
		if err := api.get(ctx, path, &pod); err != nil {
			return err
		}
		switch pod.Status.Phase {
		case "Succeeded":
			return nil
		case "Failed":
			return wait.Final(fmt.Errorf("the Pod failed: %s", pod.explain()))
		}
		return fmt.Errorf("the Pod is %s: %s", pod.Status.Phase, pod.explain())
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path[strings.LastIndexByte(path, '/')+1:], err)
	}
	return nil
}

// podStatus is the part of a Pod that says why it is not done.
type podStatus struct {
	Status struct {
		Phase, Message string
		Conditions     []struct{ Type, Status, Message string }
		// The names differ from the API's only in case, which encoding/json ignores.
		ContainerStatuses []struct {
			Name  string
			State map[string]struct{ Reason, Message string }
		}
	}
}

func (p podStatus) explain() string {
	var parts []string
	if p.Status.Message != "" {
		parts = append(parts, p.Status.Message)
	}
	for _, condition := range p.Status.Conditions {
		if condition.Status != "True" && condition.Message != "" {
			parts = append(parts, condition.Message)
		}
	}
	for _, container := range p.Status.ContainerStatuses {
		for _, state := range container.State {
			if state.Reason != "" {
				parts = append(parts, fmt.Sprintf("%s: %s %s", container.Name, state.Reason, state.Message))
			}
		}
	}
	return strings.Join(parts, "; ")
}
