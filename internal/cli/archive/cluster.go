// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Cluster says which cluster is meant, in the way of kubectl.
type Cluster struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

func (c *Cluster) bind(fs *pflag.FlagSet) {
	fs.StringVar(&c.kubeconfig, "kubeconfig", "", "path of the kubeconfig file")
	fs.StringVar(&c.overrides.CurrentContext, "context", "", "context of the kubeconfig to use")
	fs.StringVarP(&c.overrides.Context.Namespace, "namespace", "n", "", "namespace of a run that is given without one")
}

// ReadRun reads a run with the user's kubeconfig.
func ReadRun(ctx context.Context, at Cluster, namespace, name string) (*v1alpha1.MotorRun, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = at.kubeconfig
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &at.overrides)
	rest, err := config.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if namespace == "" {
		if namespace, _, err = config.Namespace(); err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(rest, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	run := &v1alpha1.MotorRun{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run); err != nil {
		return nil, fmt.Errorf("get the MotorRun %s/%s: %w", namespace, name, err)
	}
	return run, nil
}
