// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/mcpserver/cluster"
)

// mcpAccount is the ServiceAccount of the MCP server.
const mcpAccount = "system:serviceaccount:" + managerNamespace + ":motorcortex-mcpserver"

// mcpServers is an MCP server of the cluster, with the rights that config/mcpserver gives it.
type mcpServers struct {
	t   *testing.T
	ctx context.Context
	url string
}

func newMCPServers(ctx context.Context, t *testing.T, consent bool) *mcpServers {
	t.Helper()
	config := rest.CopyConfig(adminConfig)
	// It is that account by its token, as in a cluster: who impersonates somebody cannot impersonate another one on top of that.
	config.TLSClientConfig = rest.TLSClientConfig{CAData: adminConfig.CAData, CAFile: adminConfig.CAFile}
	config.BearerToken = tokenOf(ctx, t, managerNamespace, "motorcortex-mcpserver")
	serving, stop := context.WithCancel(ctx)
	c, err := cluster.New(serving, config, cluster.Options{Audience: "motorcortex-mcp", Consent: consent})
	must(t, err)
	s := httptest.NewServer(c.Handler())
	t.Cleanup(func() {
		stop()
		c.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return &mcpServers{t: t, ctx: ctx, url: s.URL}
}

// tokenOf returns a token of a ServiceAccount, for these audiences and else for the API server.
func tokenOf(ctx context.Context, t *testing.T, namespace, name string, audiences ...string) string {
	t.Helper()
	clients, err := kubernetes.NewForConfig(adminConfig)
	must(t, err)
	request, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: new(int64(3600))},
	}, metav1.CreateOptions{})
	must(t, err)
	return request.Status.Token
}

// withToken sends a token with each request.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// connects has an agent begin a session in a namespace.
func (s *mcpServers) connects(namespace, token string) (*agent, error) {
	s.t.Helper()
	a := &agent{t: s.t, ctx: s.ctx, told: make(chan string, 100), progress: make(chan string, 100)}
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { a.told <- r.Params.URI },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { a.progress <- r.Params.Message },
	})
	session, err := c.Connect(s.ctx, &mcp.StreamableClientTransport{
		Endpoint: s.url + strings.ReplaceAll(cluster.Path, "{namespace}", namespace), HTTPClient: &http.Client{Transport: withToken(token)}, MaxRetries: -1,
	}, nil)
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() { _ = session.Close() })
	a.session = session
	return a, nil
}

// status is that of the answer to a request without a session.
func (s *mcpServers) status(namespace, token, session string) int {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	if session != "" {
		body = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	}
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url+"/namespaces/"+namespace+"/mcp", strings.NewReader(body))
	must(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	answer, err := (&http.Client{Transport: withToken(token)}).Do(r)
	must(s.t, err)
	must(s.t, answer.Body.Close())
	return answer.StatusCode
}

// bodied is a namespace with agents: the ServiceAccounts agent, which may start runs and answer questions, and reader, which may list runs.
func bodied(ctx context.Context, t *testing.T) string {
	t.Helper()
	ns := newNamespace(ctx, t, withQuestions, "true")
	for name, r := range map[string]rights{"agent": {mayAct, mayCortex, "respond motorruns"}, "reader": {"get,list,watch motorruns"}} {
		must(t, admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}}))
		person(ctx, t, ns, "system:serviceaccount:"+ns+":"+name, r)
	}
	return ns
}

// lend lets the server act as the ServiceAccounts of a namespace.
func lend(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	bind(ctx, t, namespace, mcpAccount, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cluster.Impersonator})
	awaitRight(ctx, t, mcpAccount, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "impersonate", Resource: "serviceaccounts", Name: "agent"})
}

func TestAgentsOfTheClusterAreServed(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	must(t, install(ctx, filepath.Join("..", "..", "config", "mcpserver", "rbac.yaml")))
	awaitRight(ctx, t, mcpAccount, authorizationv1.ResourceAttributes{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"})
	ns, elsewhere := bodied(ctx, t), bodied(ctx, t)
	lend(ctx, t, ns)
	const audience = "motorcortex-mcp"
	token, reader := tokenOf(ctx, t, ns, "agent", audience), tokenOf(ctx, t, ns, "reader", audience)

	s := newMCPServers(ctx, t, false)
	for name, tt := range map[string]struct {
		namespace, token string
		want             int
	}{
		"an agent":                                 {ns, token, http.StatusOK},
		"a token for the API server":               {ns, tokenOf(ctx, t, ns, "agent"), http.StatusUnauthorized},
		"a token for another server":               {ns, tokenOf(ctx, t, ns, "agent", "other"), http.StatusUnauthorized},
		"a token that is none":                     {ns, "x", http.StatusUnauthorized},
		"a long token":                             {ns, strings.Repeat("x", 20<<10), http.StatusUnauthorized},
		"a namespace that lends no ServiceAccount": {ns, tokenOf(ctx, t, elsewhere, "agent", audience), http.StatusForbidden},
		"no namespace":                             {"..", token, http.StatusNotFound},
		"a name that is not of a namespace":        {"A%2Fb", token, http.StatusNotFound},
	} {
		if got := s.status(tt.namespace, tt.token, ""); got != tt.want {
			t.Errorf("%s: status %d, want %d", name, got, tt.want)
		}
	}

	a, err := s.connects(ns, token)
	must(t, err)
	name, _ := a.gets("core_act", `{"mode":"agentic","task":"count the words","tools":["read"]}`)["runId"].(string)
	run := &v1alpha1.MotorRun{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, run))
	user := "system:serviceaccount:" + ns + ":agent"
	if run.Spec.Requester.Username != user {
		t.Errorf("the run was created by %+v", run.Spec.Requester)
	}
	must(t, a.session.Subscribe(ctx, &mcp.SubscribeParams{URI: "motor://runs/" + name}))
	a.awaits(a.told, name)
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Which?"})
	a.awaits(a.told, name)
	answer := fmt.Sprintf(`{"action":"respond","runId":%q,"askId":"q1","answer":"b"}`, name)
	a.wantRefused("core_task", answer, "--allow-consent")

	// A session is its account's alone, and an account has its own rights.
	if got := s.status(ns, reader, a.session.ID()); got != http.StatusForbidden {
		t.Errorf("another account in the session: status %d", got)
	}
	r, err := s.connects(ns, reader)
	must(t, err)
	if list := r.gets("core_task", `{"action":"list"}`); list["total"] != float64(1) {
		t.Errorf("the list is %v", list)
	}
	r.wantRefused("core_act", `{"mode":"agentic","task":"x"}`, "motorcortex-editor")
	far, err := s.connects(elsewhere, token)
	must(t, err)
	far.wantRefused("core_task", `{"action":"list"}`, "motorcortex-viewer", elsewhere)

	a, err = newMCPServers(ctx, t, true).connects(ns, token)
	must(t, err)
	a.gets("core_task", answer)
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	if diff := cmp.Diff([]v1alpha1.Response{{ID: "q1", Answer: "b", RespondedBy: user}}, run.Spec.Responses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// A ServiceAccount that is deleted is not served any more when its token is looked at again, in an open session too.
	must(t, admin.Delete(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: ns}}))
	must(t, wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		return s.status(ns, reader, r.session.ID()) == http.StatusUnauthorized, nil
	}))
}
