// Judges signatures with Crossplane's own code. Each line of stdin asks one question in JSON, each line of stdout answers it.
// Its arguments are a TUF repository and the first root of that; the folder that TUF_ROOT names is made from them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/parser"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/signature"
	"github.com/crossplane/crossplane/apis/v2/pkg/v1beta1"
	authn "github.com/google/go-containerregistry/pkg/authn/kubernetes"
	"github.com/sigstore/sigstore/pkg/tuf"
	"github.com/spf13/afero"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const namespace = "crossplane-system"

// A question has the ImageConfigs and Secrets of a cluster as YAML documents, and the package to get.
type question struct {
	Objects   string `json:"objects"`
	Reference string `json:"reference"`
}

type answer struct {
	Error    string   `json:"error,omitempty"`
	Resolved string   `json:"resolved,omitempty"`
	Applied  []string `json:"applied,omitempty"`
}

// The part of a cluster that is asked: its ImageConfigs and Secrets.
type cluster struct {
	client.Client

	configs []v1beta1.ImageConfig
	secrets map[string]corev1.Secret
}

func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	found, ok := list.(*v1beta1.ImageConfigList)
	if !ok {
		return fmt.Errorf("cannot list %T", list)
	}
	found.Items = append([]v1beta1.ImageConfig(nil), c.configs...)
	return nil
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	wanted, ok := object.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("cannot get %T", object)
	}
	found, ok := c.secrets[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	found.DeepCopyInto(wanted)
	return nil
}

func main() {
	root, err := os.ReadFile(os.Args[2])
	failOn(err)
	failOn(tuf.Initialize(context.Background(), os.Args[1], root))
	metaScheme, err := xpkg.BuildMetaScheme()
	failOn(err)
	objectScheme, err := xpkg.BuildObjectScheme()
	failOn(err)
	var kube kubernetes.Interface
	fetcher, err := xpkg.NewK8sFetcher(kube, xpkg.WithNamespace(namespace), xpkg.WithServiceAccount(authn.NoServiceAccount))
	failOn(err)
	here := &cluster{}
	validator, err := signature.NewCosignValidator(here, kube, namespace, authn.NoServiceAccount)
	failOn(err)
	cache := xpkg.NewFsPackageCache("/", afero.NewMemMapFs())
	packages := xpkg.NewCachedClient(
		fetcher, parser.New(metaScheme, objectScheme), cache, xpkg.NewImageConfigStore(here, namespace), validator,
	)
	questions, answers := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else {
			failOn(err)
		}
		failOn(here.read(asked.Objects))
		failOn(answers.Encode(answerTo(asked.Reference, packages)))
	}
}

func failOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (c *cluster) read(documents string) error {
	c.configs, c.secrets = nil, map[string]corev1.Secret{}
	for _, document := range strings.Split(documents, "\n---\n") {
		var kind struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return err
		}
		switch kind.Kind {
		case "ImageConfig":
			var config v1beta1.ImageConfig
			if err := yaml.Unmarshal([]byte(document), &config); err != nil {
				return err
			}
			c.configs = append(c.configs, config)
		case "Secret":
			var secret corev1.Secret
			if err := yaml.Unmarshal([]byte(document), &secret); err != nil {
				return err
			}
			// As the API server does it.
			for key, text := range secret.StringData {
				if secret.Data == nil {
					secret.Data = map[string][]byte{}
				}
				secret.Data[key] = []byte(text)
			}
			c.secrets[secret.Name] = secret
		}
	}
	return nil
}

func answerTo(reference string, packages xpkg.Client) answer {
	// What is cached is not verified.
	found, err := packages.Get(context.Background(), reference, xpkg.WithPullPolicy(corev1.PullAlways))
	if err != nil {
		return answer{Error: err.Error()}
	}
	made := answer{Resolved: found.ResolvedRef()}
	for _, one := range found.AppliedImageConfigs {
		made.Applied = append(made.Applied, fmt.Sprintf("%s %s", one.Reason, one.Name))
	}
	return made
}
