"""The kinds of objects that the tests look at, and where the API server has them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind: its group and version, its name in paths, and the namespace if it is in one."""

    api: str
    plural: str
    namespace: str = ""

    @property
    def path(self) -> str:
        """Where its objects are."""
        root = "apis" if "/" in self.api else "api"
        space = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"/{root}/{self.api}{space}/{self.plural}"


_PKG = "pkg.crossplane.io"

PROVIDERS = Resource(f"{_PKG}/v1", "providers")
CONFIGURATIONS = Resource(f"{_PKG}/v1", "configurations")
FUNCTIONS = Resource(f"{_PKG}/v1", "functions")
PACKAGES = (PROVIDERS, CONFIGURATIONS, FUNCTIONS)
PROVIDER_REVISIONS = Resource(f"{_PKG}/v1", "providerrevisions")
CONFIGURATION_REVISIONS = Resource(f"{_PKG}/v1", "configurationrevisions")
FUNCTION_REVISIONS = Resource(f"{_PKG}/v1", "functionrevisions")
REVISIONS = (PROVIDER_REVISIONS, CONFIGURATION_REVISIONS, FUNCTION_REVISIONS)
IMAGE_CONFIGS = Resource(f"{_PKG}/v1beta1", "imageconfigs")
RUNTIME_CONFIGS = Resource(f"{_PKG}/v1beta1", "deploymentruntimeconfigs")
LOCKS = Resource(f"{_PKG}/v1beta1", "locks")
COMPOSITIONS = Resource("apiextensions.crossplane.io/v1", "compositions")
MANAGED_DEFINITIONS = Resource("apiextensions.crossplane.io/v1alpha1", "managedresourcedefinitions")
COMPOSITE_DEFINITIONS = Resource("apiextensions.crossplane.io/v1", "compositeresourcedefinitions")
CRDS = Resource("apiextensions.k8s.io/v1", "customresourcedefinitions")
NAMESPACES = Resource("v1", "namespaces")
EVENTS = Resource("v1", "events")
DEPLOYMENTS = Resource("apps/v1", "deployments")

CROSSPLANE_SYSTEM = "crossplane-system"
CROSSPLANE_SECRETS = Resource("v1", "secrets", CROSSPLANE_SYSTEM)
CROSSPLANE_ACCOUNTS = Resource("v1", "serviceaccounts", CROSSPLANE_SYSTEM)

ARGOCD = "argocd"
APPLICATIONS = Resource("argoproj.io/v1alpha1", "applications", ARGOCD)
PROJECTS = Resource("argoproj.io/v1alpha1", "appprojects", ARGOCD)
ARGOCD_CONFIG_MAPS = Resource("v1", "configmaps", ARGOCD)
ARGOCD_SECRETS = Resource("v1", "secrets", ARGOCD)
