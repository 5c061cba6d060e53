// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/test/scripts"
)

const (
	samples = "../../config/samples"
	// modelServer plays the scripts for everybody, keyedModelServer for those who send the key.
	modelServer      = "modelserver"
	keyedModelServer = "modelserver-keyed"
)

func modelURL(server string) string {
	return fmt.Sprintf("http://%s.%s.svc:8080/v1", server, suite.namespace)
}

// modelServerPort is the port of the model server's Pods. A sandbox that may report effects there is proved to be closed after
// it did so, when the Pod is a neighbour that it knows: the port must be none that the proof tries at neighbours.
const modelServerPort = 9080

// startModelServers starts the sample's model server twice, with the scripts of the tests beside that of the sample.
func startModelServers(ctx context.Context) error {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.namespace, Name: "modelserver-scripts"},
		Data:       map[string]string{},
	}
	for _, dir := range []fs.FS{scripts.FS, os.DirFS(filepath.Join(samples, "modelserver", "scripts"))} {
		names, err := fs.Glob(dir, "*.yaml")
		if err != nil {
			return err
		}
		for _, name := range names {
			text, err := fs.ReadFile(dir, name)
			if err != nil {
				return err
			}
			config.Data[name] = string(text)
		}
	}
	if err := suite.client.Create(ctx, config); err != nil {
		return err
	}
	if err := createModelServer(ctx, modelServer); err != nil {
		return err
	}
	if err := createModelServer(ctx, keyedModelServer, "--require-key="+suite.key); err != nil {
		return err
	}
	for _, name := range []string{modelServer, keyedModelServer} {
		if err := deploymentIsAvailable(ctx, types.NamespacedName{Namespace: suite.namespace, Name: name}); err != nil {
			return fmt.Errorf("deployment %s: %w", name, err)
		}
	}
	return nil
}

// createModelServer makes the objects of the sample under another name.
func createModelServer(ctx context.Context, name string, args ...string) error {
	text, err := os.ReadFile(filepath.Join(samples, "modelserver", "modelserver.yaml"))
	if err != nil {
		return err
	}
	decoder := serializer.NewCodecFactory(suite.client.Scheme()).UniversalDeserializer()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		o, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return err
		}
		selector := map[string]string{"app.kubernetes.io/name": name}
		switch o := o.(type) {
		case *corev1.Service:
			o.Spec.Selector = selector
		case *appsv1.Deployment:
			o.Spec.Selector.MatchLabels, o.Spec.Template.Labels = selector, selector
			c := &o.Spec.Template.Spec.Containers[0]
			c.Image, c.Args = suite.modelImage, append(c.Args, append(args, fmt.Sprintf("--listen=:%d", modelServerPort))...)
			c.Ports[0].ContainerPort = modelServerPort
		default:
			return fmt.Errorf("the sample has a %T, which the tests do not know", o)
		}
		object := o.(client.Object)
		object.SetNamespace(suite.namespace)
		object.SetName(name)
		if err := suite.client.Create(ctx, object); err != nil {
			return err
		}
	}
}

func deploymentIsAvailable(ctx context.Context, key types.NamespacedName) error {
	return await(ctx, soon, &appsv1.DeploymentList{}, one(key), func(ctx context.Context) (bool, error) {
		var d appsv1.Deployment
		if err := suite.client.Get(ctx, key, &d); err != nil {
			return false, err
		}
		return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
			d.Status.AvailableReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas, nil
	})
}

// kindTurn is the kind of a request for the next turn of a script.
const kindTurn = "turn"

// modelCall is a line of the model server's log.
type modelCall struct {
	Seq int64 `json:"seq"`
	// Kind is turn, or an aside: summary, partial, hint.
	Kind         string `json:"kind"`
	Script       string `json:"script"`
	Turn         int    `json:"turn"`
	Conversation string `json:"conversation"`
	PromptTokens int    `json:"promptTokens"`
	Status       int    `json:"status"`
	Fault        string `json:"fault"`
	Outcome      string `json:"outcome"`
}

// readModelServer reads by way of the API server, which knows no endpoint of a Service for a moment after it was away.
func readModelServer(ctx context.Context, path string, params map[string]string) (raw []byte, err error) {
	err = wait.PollUntilContextTimeout(ctx, time.Second, soon, true, func(ctx context.Context) (bool, error) {
		raw, err = suite.clientset.CoreV1().Services(suite.namespace).ProxyGet("http", modelServer, "8080", path, params).DoRaw(ctx)
		if apierrors.IsServiceUnavailable(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s of the model server: %w", path, err)
	}
	return raw, nil
}

// modelCalls returns the calls for a script that came after the call with that number.
func modelCalls(ctx context.Context, script string, after int64) ([]modelCall, error) {
	raw, err := readModelServer(ctx, "log", nil)
	if err != nil {
		return nil, err
	}
	var all, calls []modelCall
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Seq > after && (script == "" || c.Script == script) {
			calls = append(calls, c)
		}
	}
	return calls, nil
}

// lastModelCall is the number of the newest call.
func lastModelCall(t *testing.T) int64 {
	t.Helper()
	calls, err := modelCalls(t.Context(), "", 0)
	must(t, err)
	if len(calls) == 0 {
		return 0
	}
	return calls[len(calls)-1].Seq
}

// awaitModelCall waits until the model is asked for a turn of the script. The server's log cannot be watched.
func awaitModelCall(t *testing.T, script string, turn int, after int64) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, soon, true, func(ctx context.Context) (bool, error) {
		calls, err := modelCalls(ctx, script, after)
		for _, c := range calls {
			if c.Turn == turn {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		t.Fatalf("the model was not asked for turn %d of %s: %v", turn, script, err)
	}
}

// wantModelCalls fails unless the model was asked once for each turn, and at most extra times more in all.
func wantModelCalls(t *testing.T, script string, after int64, turns, extra int) {
	t.Helper()
	calls, err := modelCalls(t.Context(), script, after)
	must(t, err)
	asked := map[int]int{}
	calls = slices.DeleteFunc(calls, func(c modelCall) bool { return c.Kind != kindTurn })
	for _, c := range calls {
		asked[c.Turn]++
	}
	if len(asked) != turns || len(calls) > turns+extra {
		t.Errorf("the model was asked %d times for %d turns of %s; want %d turns and at most %d times more: %+v",
			len(calls), len(asked), script, turns, extra, calls)
	}
}
