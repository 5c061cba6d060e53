// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	managerNamespace = "motorcortex-system"
	managerKey       = "motorcortex-manager-key"
	container        = "toolserver"
	// look is how often something is looked at that comes.
	look = 200 * time.Millisecond
)

// bench measures on one cluster.
type bench struct {
	client client.Client
	// nodes reaches the kubelets through the API server.
	nodes     rest.Interface
	namespace string
	kubectl   string
}

// start starts runs that ask a person, and returns them when they wait: their sandboxes are idle then. It also returns those that it has
// created when it fails.
func (b *bench) start(ctx context.Context, n int) ([]*v1alpha1.MotorRun, error) {
	var runs []*v1alpha1.MotorRun
	prefix := fmt.Sprintf("t%d", time.Now().Unix())
	for i := range n {
		run := &v1alpha1.MotorRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fmt.Sprintf("%s-%d", prefix, i)},
			Spec: v1alpha1.MotorRunSpec{
				Task: "Wait.", Tools: []v1alpha1.ToolName{toolapi.ToolBash, toolapi.ToolCode}, Model: &v1alpha1.RunModel{Name: "scripted/bench-ask"}, MaxAttempts: 1,
			},
		}
		if err := b.client.Create(ctx, run); err != nil {
			return runs, fmt.Errorf("create a run: %w", err)
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		if err := b.await(ctx, run); err != nil {
			return runs, err
		}
	}
	return runs, nil
}

// await waits until a run waits for a person, and reads it into run.
func (b *bench) await(ctx context.Context, run *v1alpha1.MotorRun) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
			return fmt.Errorf("read a run: %w", err)
		}
		if run.Status.Pending() != nil && run.Status.Sandbox != nil && meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionAwaitingInput) {
			return nil
		}
		if c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFinished); c != nil && c.Status == metav1.ConditionTrue {
			return fmt.Errorf("the run %s ended before it waited: %s", run.Name, c.Message)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the run %s does not come to its question: %w", run.Name, context.Cause(ctx))
		}
	}
}

// remove deletes the runs. One that cannot be deleted ends by its own timeout.
func (b *bench) remove(ctx context.Context, runs []*v1alpha1.MotorRun) {
	for _, run := range runs {
		_ = b.client.Delete(ctx, run)
	}
}

// toolServer connects to the tool server of a run that waits, as its manager would. The client must be closed.
func (b *bench) toolServer(ctx context.Context, run *v1alpha1.MotorRun) (*toolclient.Client, error) {
	var s corev1.Secret
	if err := b.client.Get(ctx, types.NamespacedName{Namespace: managerNamespace, Name: managerKey}, &s); err != nil {
		return nil, fmt.Errorf("read the manager's key: %w", err)
	}
	block, _ := pem.Decode(s.Data["key.pem"])
	if block == nil {
		return nil, errors.New("the Secret of the manager's key has no key.pem")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the manager's key: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the manager's key is a %T", parsed)
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		return nil, err
	}
	return toolclient.New(toolclient.Config{
		Address: net.JoinHostPort(run.Status.Sandbox.PodIP, strconv.Itoa(toolapi.Port)), PodUID: run.Status.Sandbox.PodUID, ClientCert: cert, Epoch: run.Status.Execution.Epoch,
	})
}
