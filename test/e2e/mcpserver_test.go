// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// agentPod is an agent that sends a token of its ServiceAccount, and begins a session.
const agentPod = `
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: %[1]s}
spec:
  restartPolicy: Never
  serviceAccountName: default
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: agent
    image: %[2]s
    imagePullPolicy: IfNotPresent
    command: [bash, -euc]
    args:
    - |
      curl -sS --fail-with-body --max-time 30 --retry 20 --retry-delay 1 --retry-connrefused --cacert /tls/tls.crt \
        -H "Authorization: Bearer $(cat /token/token)" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}' \
        https://motorcortex-mcpserver.motorcortex-system.svc/namespaces/%[1]s/mcp
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts:
    - {name: token, mountPath: /token}
    - {name: tls, mountPath: /tls}
  volumes:
  - name: token
    projected: {sources: [{serviceAccountToken: {path: token, audience: motorcortex-mcp, expirationSeconds: 600}}]}
  - name: tls
    configMap: {name: mcp-ca}
`

// The MCP server of the cluster is installed as its guide says, and an agent in a Pod is served as its ServiceAccount.
func TestMCPServerOfTheCluster(t *testing.T) {
	t.Parallel()
	image := os.Getenv("MCPSERVER_IMAGE")
	if image == "" {
		t.Skip("MCPSERVER_IMAGE is not set: this cluster has no image of the MCP server")
	}
	const system = "motorcortex-system"
	ns := newNamespace(t, "mcp")
	certificate, key, err := cert.GenerateSelfSignedCertKey("motorcortex-mcpserver."+system+".svc", nil, nil)
	must(t, err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "motorcortex-mcpserver-tls"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}
	must(t, client.IgnoreAlreadyExists(suite.client.Create(t.Context(), secret)))
	manifests := strings.ReplaceAll(kubectl(t, "kustomize", filepath.Join("..", "..", "config", "mcpserver")), "image: mcpserver\n", "image: "+image+"\n")
	apply := func(text string) {
		t.Helper()
		if _, said, err := tryKubectl(t.Context(), text, "apply", "-f", "-"); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	apply(manifests)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if _, said, err := tryKubectl(ctx, manifests, "delete", "-f", "-", "--ignore-not-found"); err != nil {
			t.Errorf("%v: %s", err, said)
		}
		if err := client.IgnoreNotFound(suite.client.Delete(ctx, secret)); err != nil {
			t.Error(err)
		}
	})
	kubectl(t, "-n", system, "rollout", "status", "deployment/motorcortex-mcpserver", "--timeout=3m")
	kubectl(t, "-n", ns, "create", "rolebinding", "motorcortex-mcp", "--clusterrole", "motorcortex-mcp-impersonator", "--serviceaccount", system+":motorcortex-mcpserver")
	kubectl(t, "-n", ns, "create", "configmap", "mcp-ca", "--from-literal=tls.crt="+string(certificate))
	apply(fmt.Sprintf(agentPod, ns, suite.sandboxImage))
	kubectl(t, "-n", ns, "wait", "pod/agent", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=3m")
	if said := kubectl(t, "-n", ns, "logs", "agent"); !strings.Contains(said, `"name":"motorcortex"`) {
		t.Errorf("the agent was answered %s", said)
	}
}
