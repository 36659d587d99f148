// One program for the servers of Argo CD; its own name tells which one it is.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	cmpserver "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	askpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	servers := map[string]func() *cobra.Command{
		"argocd-application-controller": controller.NewCommand,
		"argocd-cmp-server":             cmpserver.NewCommand,
		"argocd-git-ask-pass":           askpass.NewCommand,
		"argocd-repo-server":            reposerver.NewCommand,
	}
	name := filepath.Base(os.Args[0])
	if own := os.Getenv("ARGOCD_BINARY_NAME"); own != "" {
		name = own
	}
	make, known := servers[name]
	if !known {
		fmt.Fprintf(os.Stderr, "call it by the name of a server, not %s\n", name)
		os.Exit(2)
	}
	if make().Execute() != nil {
		os.Exit(1)
	}
}
