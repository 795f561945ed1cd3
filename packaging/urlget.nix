# An expression for nix: nix-build packaging/urlget.nix
# The two programs are in two modules. The first build of each fails and prints the hash of the modules
# of its go.sum. Set its vendorHash to it.
{ pkgs ? import <nixpkgs> { } }:

let
  common = {
    version = pkgs.lib.removePrefix "v" (pkgs.lib.fileContents ../cmd/urlget/VERSION);
    src = pkgs.lib.cleanSource ./..;
    postPatch = "rm go.work"; # each module is built alone
    proxyVendor = true; # the hash does not contain the module at the root, which queue requires
    env.CGO_ENABLED = 0;
    ldflags = [ "-s" "-w" ];
  };
  queue = pkgs.buildGoModule (common // {
    pname = "urlget-queue";
    modRoot = "queue";
    vendorHash = pkgs.lib.fakeHash;
    subPackages = [ "cmd/urlget-queue" ];
  });
in
pkgs.buildGoModule (common // {
  pname = "urlget";
  vendorHash = pkgs.lib.fakeHash;
  subPackages = [ "cmd/urlget" ];
  nativeBuildInputs = [ pkgs.installShellFiles ];
  postInstall = ''
    ln -s ${queue}/bin/urlget-queue $out/bin/
    installShellCompletion --cmd urlget \
      --bash <($out/bin/urlget completion bash) \
      --zsh <($out/bin/urlget completion zsh) \
      --fish <($out/bin/urlget completion fish)
  '';
  meta = {
    description = "Retrieve URLs of any scheme";
    homepage = "https://github.com/urlget/urlget";
    license = pkgs.lib.licenses.mit;
    mainProgram = "urlget";
  };
})
