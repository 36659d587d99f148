// Reads packages with Crossplane's own code. Each line of stdin asks one question in JSON, each line of stdout answers it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/parser"
	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// A question has a package.yaml, or an image in an OCI layout. Without either it asks for the known kinds.
type question struct {
	PackageYAML []byte `json:"packageYaml"`
	Layout      string `json:"layout"`
	Digest      string `json:"digest"`
}

type answer struct {
	Error        string       `json:"error,omitempty"`
	Lint         string       `json:"lint,omitempty"`
	Kind         string       `json:"kind,omitempty"`
	Name         string       `json:"name,omitempty"`
	Crossplane   string       `json:"crossplane,omitempty"`
	Dependencies []dependency `json:"dependencies,omitempty"`
	Objects      [][3]string  `json:"objects,omitempty"`
	Kinds        [][2]string  `json:"kinds,omitempty"`
}

type dependency struct {
	Package    string `json:"package"`
	Constraint string `json:"constraint"`
}

func main() {
	metaScheme, err := xpkg.BuildMetaScheme()
	failOn(err)
	objectScheme, err := xpkg.BuildObjectScheme()
	failOn(err)
	packages := parser.New(metaScheme, objectScheme)
	questions, answers := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else {
			failOn(err)
		}
		failOn(answers.Encode(answerTo(asked, packages, objectScheme)))
	}
}

func failOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerTo(asked question, packages parser.Parser, objects *runtime.Scheme) answer {
	var stream io.ReadCloser
	var err error
	switch {
	case asked.Layout != "":
		stream, err = extract(asked.Layout, asked.Digest)
	case asked.PackageYAML != nil:
		stream = io.NopCloser(bytes.NewReader(asked.PackageYAML))
	default:
		return answer{Kinds: kinds(objects)}
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	found, err := packages.Parse(context.Background(), stream)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return describe(found)
}

func extract(folder, digest string) (io.ReadCloser, error) {
	hash, err := ggcr.NewHash(digest)
	if err != nil {
		return nil, err
	}
	path, err := layout.FromPath(folder)
	if err != nil {
		return nil, err
	}
	image, err := path.Image(hash)
	if err != nil {
		return nil, err
	}
	return xpkg.ExtractPackageYAML(image)
}

func kinds(scheme *runtime.Scheme) [][2]string {
	var found [][2]string
	for one := range scheme.AllKnownTypes() {
		found = append(found, [2]string{one.GroupVersion().String(), one.Kind})
	}
	sort.Slice(found, func(i, j int) bool { return fmt.Sprint(found[i]) < fmt.Sprint(found[j]) })
	return found
}

func describe(found *parser.Package) answer {
	if len(found.GetMeta()) != 1 {
		return answer{Error: "not exactly one package meta type"}
	}
	described, ok := xpkg.TryConvertToPkg(found.GetMeta()[0], &pkgmetav1.Provider{}, &pkgmetav1.Configuration{}, &pkgmetav1.Function{})
	if !ok {
		return answer{Error: "meta type is not a package"}
	}
	made := answer{Name: described.GetName()}
	if constraints := described.GetCrossplaneConstraints(); constraints != nil {
		made.Crossplane = constraints.Version
	}
	var linter parser.Linter
	switch described.(type) {
	case *pkgmetav1.Provider:
		made.Kind, linter = "Provider", xpkg.NewProviderLinter()
	case *pkgmetav1.Configuration:
		made.Kind, linter = "Configuration", xpkg.NewConfigurationLinter()
	default:
		made.Kind, linter = "Function", xpkg.NewFunctionLinter()
	}
	// Crossplane records these as an event, and installs the package.
	if err := linter.Lint(found); err != nil {
		made.Lint = err.Error()
	}
	for _, one := range described.GetDependencies() {
		dep, err := source(one)
		if err != nil {
			return answer{Error: err.Error()}
		}
		made.Dependencies = append(made.Dependencies, dep)
	}
	for _, one := range found.GetObjects() {
		made.Objects = append(made.Objects, identify(one))
	}
	return made
}

func identify(object runtime.Object) [3]string {
	apiVersion, kind := object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	named, err := meta.Accessor(object)
	if err != nil {
		return [3]string{apiVersion, kind, ""}
	}
	return [3]string{apiVersion, kind, named.GetName()}
}

// As PackageDependencyManager.Resolve does it, which cannot be imported.
func source(dep pkgmetav1.Dependency) (dependency, error) {
	switch {
	case dep.APIVersion != nil && dep.Kind != nil && dep.Package != nil:
		return dependency{*dep.Package, dep.Version}, nil
	case dep.Configuration != nil:
		return dependency{*dep.Configuration, dep.Version}, nil
	case dep.Provider != nil:
		return dependency{*dep.Provider, dep.Version}, nil
	case dep.Function != nil:
		return dependency{*dep.Function, dep.Version}, nil
	}
	return dependency{}, errors.New("encountered an invalid dependency")
}
