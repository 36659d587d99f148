// One program for the servers of Kubernetes; its own name tells which one it is.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	servers := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
	}
	name := filepath.Base(os.Args[0])
	make, known := servers[name]
	if !known {
		fmt.Fprintf(os.Stderr, "call it by the name of a server, not %s\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(make()))
}
