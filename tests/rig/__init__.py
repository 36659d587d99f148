"""What tests are built from: values in few words, servers, repositories, and clusters in memory and real ones."""
