// SPDX-License-Identifier: Apache-2.0

// Package cluster connects the verbs of the plugin to the user's cluster, in the way of kubectl.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Connect returns a client with the user's kubeconfig, and the selected namespace.
type Connect func() (c client.WithWatch, namespace string, err error)

// Flags select the cluster.
type Flags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// The flags that name a cluster.
const (
	kubeconfigFlag = "kubeconfig"
	contextFlag    = "context"
)

// The flags that name who asks. Those of kubectl have the same names.
const (
	asFlag      = "as"
	asUIDFlag   = "as-uid"
	asGroupFlag = "as-group"
)

// Bind adds the flags.
func (f *Flags) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.kubeconfig, kubeconfigFlag, "", "path of the kubeconfig file")
	fs.StringVar(&f.overrides.CurrentContext, contextFlag, "", "context of the kubeconfig to use")
	fs.StringVarP(&f.overrides.Context.Namespace, "namespace", "n", "", "namespace, instead of that of the context")
	fs.StringVar(&f.overrides.AuthInfo.Impersonate, asFlag, "", "user to impersonate, or a service account as system:serviceaccount:NAMESPACE:NAME")
	fs.StringVar(&f.overrides.AuthInfo.ImpersonateUID, asUIDFlag, "", "UID of the user to impersonate")
	fs.StringArrayVar(&f.overrides.AuthInfo.ImpersonateGroups, asGroupFlag, nil, "group to impersonate; the flag can be repeated")
	fs.StringVar(&f.overrides.Timeout, "request-timeout", "0", "most time for one request to the API server, as in 30s; 0 for no limit. A watch goes on for longer")
}

// Scheme has the kinds that verbs work with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(
		v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme),
		admissionv1.AddToScheme(scheme), appsv1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme),
	)
}

// Raw returns a client of the API server for what is no object: its version and its schemas.
type Raw func() (rest.Interface, error)

// Raw is a Raw that uses the flags.
func (f *Flags) Raw() (rest.Interface, error) {
	config, _, err := f.Config()
	if err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return d.RESTClient(), nil
}

// Config returns how to reach the cluster that the flags select, and the namespace.
func (f *Flags) Config() (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	// As kubectl: an inbox of many namespaces takes many requests at once.
	config.QPS, config.Burst = 50, 300
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	return config, namespace, nil
}

// Connect is a Connect that uses the flags.
func (f *Flags) Connect() (c client.WithWatch, namespace string, err error) {
	config, namespace, err := f.Config()
	if err != nil {
		return nil, "", err
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, "", err
	}
	if c, err = newClient(config, scheme); err != nil {
		return nil, "", fmt.Errorf("connect to the cluster: %w", err)
	}
	return c, namespace, nil
}

// newClient makes a client whose requests end after the timeout of the configuration. Its watches go on: the timeout of an HTTP client is
// that of a whole answer, and the answer to a watch has no end.
func newClient(config *rest.Config, scheme *runtime.Scheme) (client.WithWatch, error) {
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil || config.Timeout == 0 {
		return c, err
	}
	config = rest.CopyConfig(config)
	config.Timeout = 0
	watching, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: c.RESTMapper()})
	return bounded{c, watching}, err
}

// bounded is a client whose watches are those of another one.
type bounded struct {
	client.WithWatch

	watching client.WithWatch
}

// Watch implements client.WithWatch.
func (b bounded) Watch(ctx context.Context, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
	return b.watching.Watch(ctx, list, o...)
}

// Selected are the flags of a command by which its user named the cluster and who asks, "" if there are none, with a space before each: a command
// that is printed for the user to paste has them. They are quoted for a shell, and the path of the kubeconfig is absolute.
func Selected(cmd *cobra.Command) string {
	var all strings.Builder
	for _, name := range []string{contextFlag, kubeconfigFlag, asFlag, asUIDFlag, asGroupFlag} {
		flag := cmd.Flag(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if absolute, err := filepath.Abs(value); err == nil && name == kubeconfigFlag {
				value = absolute
			}
			all.WriteString(" --" + name + " " + Quote(value))
		}
	}
	return all.String()
}

var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quote makes one word of a shell of a text.
func Quote(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
