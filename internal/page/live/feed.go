// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// firstPause and lastPause are between two tries to watch. The pause doubles as long as the API server is away.
	firstPause, lastPause = time.Second, 30 * time.Second
)

// kind is a kind of objects that is watched.
type kind struct {
	name string
	// of is the change that an object of the kind stands for.
	of func(o metav1.Object) Change
}

var kinds = []kind{
	{"MotorRun", func(o metav1.Object) Change {
		return Change{Kind: KindRun, Namespace: o.GetNamespace(), Name: o.GetName()}
	}},
	{"MotorStep", func(o metav1.Object) Change {
		return Change{Kind: KindRun, Namespace: o.GetNamespace(), Name: o.GetLabels()[v1alpha1.LabelRun]}
	}},
	{"Skill", func(o metav1.Object) Change {
		return Change{Kind: KindSkill, Namespace: o.GetNamespace(), Name: o.GetName()}
	}},
}

// feed watches for one person, in one namespace or in all.
type feed struct {
	client    client.WithWatch
	namespace string
	explain   func(error) string
	end       context.CancelFunc
	key       feedKey

	mu    sync.Mutex
	pages map[*Subscription]bool
	// trouble is why a kind cannot be watched, by its name.
	trouble map[string]string
}

// add has a page told. It is told first that anything may have changed, and what cannot be watched.
func (f *feed) add(s *Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages[s] = true
	s.tell(Change{Kind: KindAll})
	for name, text := range f.trouble {
		s.tell(Change{Kind: KindTrouble, Name: name, Text: text})
	}
}

func (f *feed) remove(s *Subscription) (left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pages, s)
	return len(f.pages)
}

func (f *feed) tell(c Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.pages {
		s.tell(c)
	}
}

// stands records whether a kind can be watched, "" if it can, and tells of it if that is new.
func (f *feed) stands(name, text string) {
	f.mu.Lock()
	was := f.trouble[name]
	f.trouble[name] = text
	if text == "" {
		delete(f.trouble, name)
	}
	f.mu.Unlock()
	if was != text {
		f.tell(Change{Kind: KindTrouble, Name: name, Text: text})
	}
}

// watch tells of a kind until the context ends. A watch that broke begins anew.
func (f *feed) watch(ctx context.Context, k kind) {
	for pause := firstPause; ; {
		held, err := f.once(ctx, k)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.stands(k.name, f.explain(err))
		}
		if held {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// once watches from now on until the watch ends, and reports whether it began.
func (f *feed) once(ctx context.Context, k kind) (held bool, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(k.name + "List"))
	// One object is read for the version of the whole list: a watch without a version begins with every object that there is.
	if err := f.client.List(ctx, list, client.InNamespace(f.namespace), client.Limit(1)); err != nil {
		return false, err
	}
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
	w, err := f.client.Watch(ctx, list, since, client.InNamespace(f.namespace))
	if err != nil {
		return false, err
	}
	defer w.Stop()
	f.stands(k.name, "")
	f.tell(Change{Kind: KindAll})
	for {
		select {
		case <-ctx.Done():
			return true, nil
		case e, open := <-w.ResultChan():
			if !open || e.Type == watch.Error {
				// It begins anew in a moment, and if it cannot, that is told.
				return true, nil
			}
			if o, err := apimeta.Accessor(e.Object); err == nil {
				f.tell(k.of(o))
			}
		}
	}
}
